// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "control/rdmacm/service_core.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/pkey_table.h"
#include "datapath/wire/text.h"

// Source and destination of an id: bind and resolve_address.

namespace verbline::rdmacm {
namespace {

SocketAddress any_of(Family family, std::uint16_t port) {
    return {.family = family, .gid = family == Family::ipv4 ? SocketAddress::any_ipv4() : wire::Gid{}, .port = port};
}

bool ours(const NetworkPort::Facts& facts, const wire::Gid& address) {
    return address == facts.port_gid ||
           std::ranges::find(facts.addresses, address, &link::InterfaceAddress::gid) != facts.addresses.end();
}

/// Neighbours known without resolution: groups, GIDs of AF_IB on InfiniBand, and our own addresses.
std::optional<NetworkPort::Neighbour> known_neighbour(const NetworkPort::Facts& facts, const SocketAddress& to,
                                                      wire::PKey pkey) {
    const bool ib = facts.kind == link::GidTable::Kind::ib;
    if (link::is_group(to.gid)) {
        const auto ipv4 = link::ipv4_of(to.gid);
        if (!ib || to.family == Family::ib) return {{.gid = to.gid}};
        if (ipv4) return {{.gid = wire::ipoib_multicast_mgid(*ipv4, pkey)}};
        return {{.gid = wire::ipoib_multicast_mgid(wire::Ipv6Address{to.gid.bytes}, pkey)}};
    }
    if (ib && to.family == Family::ib) return {{.gid = to.gid}};
    if (!ours(facts, to.gid)) return std::nullopt;
    return {{.mac = link::mac_of_link_local(facts.port_gid).value_or(wire::MacAddress{}), .gid = facts.port_gid}};
}

}  // namespace

Result<void> ServiceCore::bind(IdNumber number, const SocketAddress& address, Time now) {
    const auto id = find(number);
    if (!id) return std::unexpected(id.error());
    if ((*id)->state != IdState::idle) return failure(EINVAL, "the id has an address already");
    return bind_source(**id, address, now);
}

/// Binds an idle id. On failure the id is unchanged.
Result<void> ServiceCore::bind_source(Id& id, const SocketAddress& address, Time now) {
    auto space = id.space;
    auto source = address;
    if (address.family == Family::ib) {
        const auto found = ib_space(id.space, address);
        if (!found) return failure(EPROTONOSUPPORT, "the service id lies in none of the id's port spaces");
        space = *found;
        source.port = static_cast<std::uint16_t>(address.service_id & address.service_mask);
    }
    if (!address.any()) {
        const auto owner = owner_of(ports_, address);
        if (!owner) return std::unexpected(owner.error());
        if (auto adopted = adopt(id, *owner, address); !adopted) return adopted;
        source.gid = owner->address;  // of a loopback address: what peers can reach
    }
    id.source = source;
    if (auto bound = bindings_.bind(id, space, ports_of(id)); !bound) {
        id.source = {};
        id.port = nullptr;
        return bound;
    }
    if (source.family == Family::ib) {
        id.source.service_id = static_cast<std::uint64_t>(service_id(space, id.source.port));
        id.source.service_mask = ~std::uint64_t{0};
    }
    become(id, IdState::addr_bound, now);
    return {};
}

/// Sets the port, source address and partition of an id: that which AF_IB names, or which an IP address is in.
Result<void> ServiceCore::adopt(Id& id, const Source& source, const SocketAddress& asked) {
    const auto& gid = wire_gid(source.facts, source.address);
    const auto index = gid_index_of(*source.port, source.facts, gid);
    if (!index) return failure(ENODEV, source.facts.name + " has no GID for this address: is its link up?");
    auto pkey = source.facts.pkey;
    auto named = pkey_of(source.facts, source.address);
    if (asked.family == Family::ib) named = asked.pkey != wire::PKey{} ? std::optional(asked.pkey) : std::nullopt;
    if (named && source.facts.kind == link::GidTable::Kind::ib) {
        const auto at = wire::pkey_index(source.facts.pkeys, *named);
        if (!at)
            return failure(ENODEV, fmt::format("{} is not in the partition of P_Key {}: see what the subnet manager "
                                               "has given it (smpquery pkeys)",
                                               source.facts.name, wire::to_string(*named)));
        pkey = source.facts.pkeys[*at];
    }
    id.port = source.port;
    id.gid_index = *index;
    id.source_gid = gid;
    id.lid = source.facts.lid;
    id.connection.pkey = pkey;
    return {};
}

Result<void> ServiceCore::resolve_address(IdNumber number, const std::optional<SocketAddress>& source,
                                          const SocketAddress& destination, Time timeout, Time now) {
    const auto found = find(number);
    if (!found) return std::unexpected(found.error());
    Id& id = **found;
    if (id.state != IdState::idle && id.state != IdState::addr_bound)
        return failure(EINVAL, "the id's addresses are resolved, or being resolved, already");
    const auto from = id.state == IdState::addr_bound ? id.source : source.value_or(any_of(destination.family, 0));
    if (from.family != destination.family) return failure(EINVAL, "source and destination are of different families");

    auto to = destination;
    if (loopback(to)) to = any_of(to.family, to.port);
    if (from.any()) {
        const auto chosen = to.any() ? loopback_source(ports_, to.family) : source_towards(ports_, to);
        if (!chosen) return std::unexpected(chosen.error());
        if (to.any()) to.gid = chosen->address;
        auto specific = from;
        specific.gid = chosen->address;
        if (specific.pkey == wire::PKey{}) specific.pkey = to.pkey;      // as in Linux
        if (to.family == Family::ipv6) specific.scope_id = to.scope_id;  // as in Linux
        if (id.state == IdState::idle) {
            // Service ids of AF_IB without one given: those of the id's own space.
            if (to.family == Family::ib && specific.service_mask == 0)
                specific.service_id = static_cast<std::uint64_t>(service_id(id.space, 0));
            if (auto bound = bind_source(id, specific, now); !bound) return bound;
        } else if (auto adopted = adopt(id, *chosen, specific); !adopted) {
            return adopted;
        }
        id.source.gid = chosen->address;
        id.source.scope_id = specific.scope_id;
        id.device_by_resolution = true;
        bindings_.update(id);
    } else if (id.state == IdState::idle) {
        if (auto bound = bind_source(id, from, now); !bound) return bound;
    }
    if (to.any()) to.gid = id.source.gid;
    if (to.family == Family::ib) to.port = static_cast<std::uint16_t>(to.service_id & to.service_mask);
    id.destination = to;
    become(id, IdState::addr_query, now);
    find_neighbour(id, timeout, now);
    return {};
}

void ServiceCore::find_neighbour(Id& id, Time timeout, Time now) {
    const auto facts = id.port->facts();
    const auto ticket = ask(id, timeout, now);
    const auto answer = [this, number = id.number, ticket](const Result<NetworkPort::Neighbour>& neighbour) {
        if (Id* asked = answered(number, ticket)) address_resolved(*asked, neighbour);
    };
    if (const auto known = known_neighbour(facts, id.destination, id.connection.pkey)) return answer(*known);
    id.port->find_neighbour(ticket, id.source.gid, id.destination.gid, answer);
}

void ServiceCore::address_resolved(Id& id, const Result<NetworkPort::Neighbour>& neighbour) {
    if (!neighbour) return address_failed(id, neighbour.error());
    id.mac = neighbour->mac;
    const bool ib = id.port->facts().kind == link::GidTable::Kind::ib;
    id.destination_gid = ib ? neighbour->gid : id.destination.gid;
    become(id, IdState::addr_resolved, now_);
    emit(id, EventKind::address_resolved);
}

/// Address resolution has failed; the id may try another destination.
void ServiceCore::address_failed(Id& id, const Error& error) {
    counters_.address_errors.add();
    if (std::exchange(id.device_by_resolution, false)) {
        id.port = nullptr;
        id.source.gid = any_of(id.source.family, 0).gid;
        bindings_.update(id);
    }
    become(id, IdState::addr_bound, now_);
    emit(id, EventKind::address_error, -error.code);
}

/// Starts a request to the id's port: ticket and timeout.
NetworkPort::Ticket ServiceCore::ask(Id& id, Time timeout, Time now) {
    id.ticket = ++last_ticket_;
    ids_.wait_until(id, now + timeout);
    return id.ticket;
}

/// Ends a request to the id's port. Null: the id was destroyed, or no longer waits for this answer.
Id* ServiceCore::answered(IdNumber number, NetworkPort::Ticket ticket) {
    Id* id = ids_.find(number);
    if (!id || id->ticket != ticket) return nullptr;
    id->ticket = 0;
    ids_.wait_until(*id, std::nullopt);
    return id;
}

void ServiceCore::timed_out(Id& id) {
    if (id.ticket != 0) id.port->cancel(std::exchange(id.ticket, 0));
    const Error error{ETIMEDOUT, "no answer in time"};
    if (id.state == IdState::addr_query) address_failed(id, error);
    if (id.state == IdState::route_query) route_failed(id, error);
}

}  // namespace verbline::rdmacm

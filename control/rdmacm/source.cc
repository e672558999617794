// SPDX-License-Identifier: BSD-3-Clause
#include "control/rdmacm/source.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "datapath/link/ip_gid.h"
#include "datapath/wire/text.h"

namespace verbline::rdmacm {
namespace {

Family family_of(const wire::Gid& gid) {
    return link::ipv4_of(gid) ? Family::ipv4 : Family::ipv6;
}

std::string text_of(const SocketAddress& address) {
    if (const auto ipv4 = link::ipv4_of(address.gid)) return wire::to_string(*ipv4);
    return wire::to_string(address.gid);
}

/// Only link-local addresses have a scope, as in Linux; without one any port matches.
bool in_scope(const NetworkPort::Facts& facts, const SocketAddress& address) {
    return address.family != Family::ipv6 || !link_local(address.gid) || address.scope_id == 0 || facts.ifindex == 0 ||
           address.scope_id == facts.ifindex;
}

/// A port's addresses of a family, with their prefixes.
std::vector<link::InterfaceAddress> addresses(const NetworkPort::Facts& facts, Family family) {
    std::vector<link::InterfaceAddress> result;
    for (const auto& address : facts.addresses)
        if (family == Family::ib ? facts.kind == link::GidTable::Kind::roce : family_of(address.gid) == family)
            result.push_back(address);
    // On InfiniBand the port's GID is no IP address: only AF_IB names it.
    const bool own = family == Family::ib || (family == Family::ipv6 && facts.kind == link::GidTable::Kind::roce);
    if (own && facts.port_gid != wire::Gid{}) result.push_back({facts.port_gid, 64});
    return result;
}

/// Rank of `from` as a source: its prefix length in bits, more if it is the destination itself; 0: does not match.
unsigned suits(const link::InterfaceAddress& from, const wire::Gid& to) {
    constexpr unsigned itself = 1000;
    if (from.gid == to) return itself;
    if (from.length == 0 || family_of(from.gid) != family_of(to)) return 0;
    return link::contains(from, to) ? from.length : 0;
}

}  // namespace

Result<Source> owner_of(std::span<NetworkPort* const> ports, const SocketAddress& address) {
    if (loopback(address)) return loopback_source(ports, address.family);
    for (NetworkPort* port : ports) {
        auto facts = port->facts();
        if (!in_scope(facts, address)) continue;
        for (const auto& own : addresses(facts, address.family))
            if (own.gid == address.gid) return Source{port, std::move(facts), address.gid};
    }
    return failure(EADDRNOTAVAIL, fmt::format("no RDMA port has the address {}: see `verbline devinfo` for those that "
                                              "there are",
                                              text_of(address)));
}

Result<Source> source_towards(std::span<NetworkPort* const> ports, const SocketAddress& destination) {
    std::optional<Source> best, routed;
    unsigned best_suits = 0;
    for (NetworkPort* port : ports) {
        const auto facts = port->facts();
        if (!facts.active || !in_scope(facts, destination)) continue;
        for (const auto& own : addresses(facts, destination.family)) {
            if (const unsigned how = suits(own, destination.gid); how > best_suits) {
                best = Source{port, facts, own.gid};
                best_suits = how;
            }
            if (!routed && !link_local(own.gid) && !link_local(destination.gid)) routed = Source{port, facts, own.gid};
        }
    }
    if (best) return *std::move(best);
    if (routed) return *std::move(routed);
    return failure(ENETUNREACH, fmt::format("no RDMA port that is up has an address to reach {} from: give one an "
                                            "address in that network",
                                            text_of(destination)));
}

Result<Source> loopback_source(std::span<NetworkPort* const> ports, Family family) {
    for (NetworkPort* port : ports) {
        auto facts = port->facts();
        const auto own = addresses(facts, family);
        if (facts.active && !own.empty()) return Source{port, std::move(facts), own.front().gid};
    }
    return failure(ENODEV, family == Family::ipv4 ? "no RDMA port that is up has an IPv4 address: give one an address"
                                                  : "no RDMA port that is up has an IPv6 address: give one an address");
}

std::optional<unsigned> gid_index_of(const NetworkPort& port, const NetworkPort::Facts& facts, const wire::Gid& gid) {
    if (facts.kind == link::GidTable::Kind::ib) return port.gid_index(gid, link::GidType::ib);
    if (const auto index = port.gid_index(gid, link::GidType::roce_v2)) return index;
    return port.gid_index(gid, link::GidType::roce_v1);
}

std::optional<wire::PKey> pkey_of(const NetworkPort::Facts& facts, const wire::Gid& address) {
    const auto found = std::ranges::find(facts.addresses, address, &link::InterfaceAddress::gid);
    if (found == facts.addresses.end() || found->pkey == link::InterfaceAddress{}.pkey) return std::nullopt;
    return found->pkey;
}

}  // namespace verbline::rdmacm

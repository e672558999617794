// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/ucma/own_subnet.h"

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "apps/libibverbs/port/process.h"
#include "control/mad/ibsim.h"
#include "datapath/link/interface_address.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/pkey_table.h"
#include "datapath/wire/text.h"

namespace verbline::verbs {
namespace {

/// The user id of a multicast join's ticket; smaller ids are the port's own.
sa::UserId user_of(Subnet::Ticket ticket) {
    return sa::UserId{ticket + (std::uint64_t{1} << 32)};
}

}  // namespace

Result<std::unique_ptr<OwnSubnet>> OwnSubnet::create(VerbsPort& port, control::Loop& loop,
                                                     const std::vector<link::InterfaceAddress>& addresses,
                                                     Handlers handlers) {
    std::unique_ptr<OwnSubnet> made(new OwnSubnet(port, std::move(handlers)));
    if (auto attached = made->attach(loop, addresses); !attached) return std::unexpected(attached.error());
    return made;
}

OwnSubnet::~OwnSubnet() {
    port_events_ = losses_ = {};
    port_.fabric_watch().watch(port_.link().fabric_link);
}

Result<void> OwnSubnet::attach(control::Loop& loop, const std::vector<link::InterfaceAddress>& addresses) {
    const auto& place = port_.link().fabric_link;
    port_.fabric_watch().leave();
    auto transport = mad::IbsimTransport::open(place.fabric, place.host, loop);
    if (!transport) return std::unexpected(transport.error());
    transport_ = std::move(*transport);
    agent_ = std::make_unique<sa::Agent>(*transport_, loop);
    port_events_ = agent_->on_event([this](mad::PortEvent event) { port_event(event); });
    losses_ = agent_->on_loss([this] { port_.reregister(); });
    port_.set_fabric(transport_->port());
    if (auto opened = open_partition(loop, wire::default_pkey, link::addresses_in(wire::default_pkey, addresses));
        !opened)
        return opened;
    for (const auto& [gid, length, pkey] : addresses) {
        if (partition(pkey) != nullptr) continue;
        if (auto opened = open_partition(loop, pkey, link::addresses_in(pkey, addresses)); !opened) return opened;
    }
    return {};
}

Result<void> OwnSubnet::open_partition(control::Loop& loop, wire::PKey pkey,
                                       std::vector<link::InterfaceAddress> addresses) {
    auto pair = IpoibQueuePair::create(port_, pkey);
    if (!pair) return std::unexpected(pair.error());
    auto& made = partitions_[wire::partition(pkey)];
    made.pair = std::move(*pair);
    made.neighbours = std::make_unique<ipoib::IpoibNeighbours>(
        loop, *agent_,
        ipoib::IpoibNeighbours::Setup{
            .pkey = pkey,
            .qpn = made.pair->qpn(),
            .addresses = std::move(addresses),
            .send = [pair = made.pair.get()](const wire::AddressHandle& to, wire::Qpn qpn,
                                             wire::Bytes packet) { pair->send(to, qpn, packet); },
            .on_group = [this, pkey](const auto& mgid, const auto& group) { granted(pkey, mgid, group); }});
    auto watch = loop.watch(made.pair->arrivals(), [this, &made](std::uint32_t) {
        made.pair->drain([&made](wire::Bytes packet) { made.neighbours->received(packet); });
        port_.progress().leave();
    });
    if (!watch) return std::unexpected(watch.error());
    made.watch = std::move(*watch);
    return {};
}

OwnSubnet::Partition* OwnSubnet::partition(wire::PKey pkey) {
    const auto found = partitions_.find(wire::partition(pkey));
    return found != partitions_.end() ? &found->second : nullptr;
}

/// A group of IPoIB's own.
void OwnSubnet::granted(wire::PKey pkey, const wire::Gid& mgid, const sa::Group& group) {
    if (auto joined = partition(pkey)->pair->join(mgid, group); !joined) complain(joined.error());
    if (mgid == wire::ipoib_broadcast_mgid(wire::default_pkey)) handlers_.broadcast(group);
}

void OwnSubnet::port_event(mad::PortEvent event) {
    port_.set_fabric(agent_->port());
    for (const auto& [number, each] : partitions_) {
        if (auto followed = each.pair->follow(agent_->port().pkeys); !followed) complain(followed.error());
    }
    if (mad::asks_for_registrations(event)) port_.reregister();
}

void OwnSubnet::find_neighbour(Ticket ticket, const wire::Gid& to, wire::PKey pkey) {
    auto* const asked = partition(pkey);
    if (asked == nullptr)
        return handlers_.neighbour(ticket, failure(EHOSTUNREACH, port_.name() + " has no IP address in the partition"));
    asked->neighbours->find(ticket, to,
                            [this, ticket](const Result<wire::Gid>& gid) { handlers_.neighbour(ticket, gid); });
}

/// ETIMEDOUT if the subnet administrator did not answer, else EHOSTUNREACH.
void OwnSubnet::find_path(Ticket ticket, const wire::Gid& to, wire::PKey pkey) {
    agent_->paths().resolve(
        agent_->paths().key(to, pkey), [this, ticket, to](const sa::Answer<wire::PathRecord>& path) {
            if (path) return handlers_.path(ticket, *path);
            const bool silent = path.error().reason == sa::Failure::Reason::timed_out;
            handlers_.path(ticket, failure(silent ? ETIMEDOUT : EHOSTUNREACH,
                                           fmt::format("{}: no path to {}: {}", port_.name(), wire::to_string(to),
                                                       sa::describe(path.error()))));
        });
}

void OwnSubnet::join(Ticket ticket, const rdmacm::GroupRequest& request) {
    const auto* const joined = partition(request.pkey);
    auto like = (joined != nullptr ? joined : partition(wire::default_pkey))->neighbours->broadcast_group();
    if (like && request.qkey) like->qkey = *request.qkey;
    const auto state = request.send_only ? wire::join_state::send_only_full_member : wire::join_state::full_member;
    agent_->groups().join(request.mgid, user_of(ticket), state, {.pkey = request.pkey, .create_like = like},
                          [this, ticket, mgid = request.mgid](const auto& group) { granted(ticket, mgid, group); });
}

void OwnSubnet::granted(Ticket ticket, const wire::Gid& mgid, const std::expected<sa::Group, sa::SaStatus>& group) {
    if (group) return handlers_.group(ticket, mgid, *group);
    handlers_.group(ticket, mgid,
                    failure(EINVAL, fmt::format("{}: the subnet administrator refuses group {}: {}", port_.name(),
                                                wire::to_string(mgid), sa::describe(group.error()))));
}

void OwnSubnet::leave(Ticket ticket, const wire::Gid& mgid) {
    agent_->groups().leave(mgid, user_of(ticket));
}

void OwnSubnet::cancel(Ticket ticket) {
    for (const auto& [number, each] : partitions_) each.neighbours->cancel(ticket);
}

void OwnSubnet::counters(const CounterVisitor& visit) const {
    agent_->counters(visit);
    CounterSums sums;
    for (const auto& [number, each] : partitions_) {
        each.neighbours->counters(sums.add());
        each.pair->counters(sums.add());
    }
    sums.each(visit);
}

}  // namespace verbline::verbs

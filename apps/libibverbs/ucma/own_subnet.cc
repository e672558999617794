// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/ucma/own_subnet.h"

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "apps/libibverbs/port/process.h"
#include "control/mad/ibsim.h"
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
    auto pair = IpoibQueuePair::create(port_);
    if (!pair) return std::unexpected(pair.error());
    pair_ = std::move(*pair);
    auto watch = loop.watch(pair_->arrivals(), [this](std::uint32_t) {
        pair_->drain([this](wire::Bytes packet) { neighbours_->received(packet); });
        port_.progress().leave();
    });
    if (!watch) return std::unexpected(watch.error());
    watch_ = std::move(*watch);
    neighbours_ = std::make_unique<ipoib::IpoibNeighbours>(
        loop, *agent_,
        ipoib::IpoibNeighbours::Setup{
            .qpn = pair_->qpn(),
            .addresses = addresses,
            .send = [this](const wire::AddressHandle& to, wire::Qpn qpn,
                           wire::Bytes packet) { pair_->send(to, qpn, packet); },
            .on_group = [this](const auto& mgid, const auto& group) { granted(mgid, group); }});
    return {};
}

/// A group of IPoIB's own.
void OwnSubnet::granted(const wire::Gid& mgid, const sa::Group& group) {
    if (auto joined = pair_->join(mgid, group); !joined) complain(joined.error());
    if (mgid == neighbours_->broadcast_mgid()) handlers_.broadcast(group);
}

void OwnSubnet::port_event(mad::PortEvent event) {
    port_.set_fabric(agent_->port());
    if (mad::asks_for_registrations(event)) port_.reregister();
}

/// All addresses of a port of the program's own are in the default partition.
void OwnSubnet::find_neighbour(Ticket ticket, const wire::Gid& to, wire::PKey /*pkey*/) {
    neighbours_->find(ticket, to, [this, ticket](const Result<wire::Gid>& gid) { handlers_.neighbour(ticket, gid); });
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
    auto like = neighbours_->broadcast_group();
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
    neighbours_->cancel(ticket);
}

void OwnSubnet::counters(const CounterVisitor& visit) const {
    agent_->counters(visit);
    neighbours_->counters(visit);
    pair_->counters(visit);
}

}  // namespace verbline::verbs

// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbs/rdma_cm/fabric_network.h"

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "apps/verbs/port/process.h"
#include "control/mad/ibsim.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/text.h"

namespace verbline::verbs {
namespace {

constexpr Time broadcast_limit = 2 * second;

/// Of a group's users; those below are the port's own.
sa::UserId user_of(rdmacm::NetworkPort::Ticket ticket) {
    return sa::UserId{ticket + (std::uint64_t{1} << 32)};
}

/// As verbs give it for errors of the subnet administrator.
Error error_of(const Port& port, const wire::Gid& to, const sa::Failure& why) {
    const bool silent = why.reason == sa::Failure::Reason::timed_out;
    return {silent ? ETIMEDOUT : EHOSTUNREACH,
            fmt::format("{}: no path to {}: {}", port.name(), wire::to_string(to), sa::describe(why))};
}

}  // namespace

Result<std::unique_ptr<FabricNetwork>> FabricNetwork::create(Port& port, const InfinibandLink& link,
                                                             Surroundings around) {
    auto arrivals = make_arrivals(port);
    if (!arrivals) return std::unexpected(arrivals.error());
    std::unique_ptr<FabricNetwork> network(new FabricNetwork(port, std::move(around), std::move(*arrivals)));
    if (auto started = network->start(); !started) return std::unexpected(started.error());
    if (auto attached = network->attach(link); !attached) return std::unexpected(attached.error());
    return network;
}

FabricNetwork::~FabricNetwork() = default;

Result<void> FabricNetwork::attach(const InfinibandLink& link) {
    auto& loop = *around().loop;
    addresses_ = port().link().ipoib_addresses;
    addresses_.push_back({port::ipv6_link_local_of(port().link().fabric.gid()), 64});
    auto transport = mad::IbsimTransport::open(link.fabric, link.host, loop);
    if (!transport) return std::unexpected(transport.error());
    transport_ = std::move(*transport);
    agent_ = std::make_unique<sa::Agent>(*transport_, loop);
    agent_->on_event([this](mad::PortEvent event) { port_event(event); });
    auto pair = IpoibQueuePair::create(port());
    if (!pair) return std::unexpected(pair.error());
    pair_ = std::move(*pair);
    auto watch = loop.watch(pair_->arrivals(), [this](std::uint32_t) {
        pair_->drain([this](wire::Bytes packet) { neighbours_->received(packet); });
        port().progress().leave();
    });
    if (!watch) return std::unexpected(watch.error());
    watch_ = std::move(*watch);
    neighbours_ = std::make_unique<port::IpoibNeighbours>(
        loop, *agent_,
        port::IpoibNeighbours::Setup{
            .qpn = pair_->qpn(),
            .addresses = addresses_,
            .send = [this](const wire::AddressHandle& to, wire::Qpn qpn,
                           wire::Bytes packet) { pair_->send(to, qpn, packet); },
            .on_group = [this](const auto& mgid, const auto& group) { granted(mgid, group); }});
    await_broadcast_group();
    return {};
}

/// Programs take for granted that an interface is in its broadcast group: they ask once for the Q_Key that is its.
void FabricNetwork::await_broadcast_group() {
    auto& loop = *around().loop;
    for (const auto until = loop.now() + broadcast_limit; !broadcast_ && loop.now() < until;) {
        loop.run_once(until - loop.now());
    }
    attached_ = true;
}

/// A group of IPoIB's own.
void FabricNetwork::granted(const wire::Gid& mgid, const sa::Group& group) {
    if (auto joined = pair_->join(mgid, group); !joined) complain(joined.error());
    if (mgid != neighbours_->broadcast_mgid()) return;
    if (!attached_) {
        broadcast_ = group;  // nobody else is there yet
    } else {
        around().with_service([&] { broadcast_ = group; });
    }
}

rdmacm::NetworkPort::Facts FabricNetwork::facts() const {
    auto facts = PortNetwork::facts();
    facts.addresses = addresses_;
    facts.broadcast_group = wire::ipoib_broadcast_mgid(wire::PKey{0xffff});
    if (broadcast_) facts.broadcast_qkey = broadcast_->qkey;
    if (broadcast_) facts.rate = broadcast_->rate;
    return facts;
}

/// False: nobody waits for it any more.
template <class Handler, class Answer>
bool FabricNetwork::answer(std::map<Ticket, Handler>& waiting, Ticket ticket, const Answer& what) {
    bool awaited = false;
    around().with_service([&] {
        auto asked = waiting.extract(ticket);
        awaited = !asked.empty();
        if (awaited) asked.mapped()(what);
    });
    return awaited;
}

/// Groups are joined again, and paths asked for again, by the agent. But packets carry the LID that the port had when
/// it was opened, and arrive by it (its lane of the hub).
void FabricNetwork::port_event(mad::PortEvent event) {
    if (event != mad::PortEvent::lid_change && event != mad::PortEvent::gid_change) return;
    const auto &opened = port().link().fabric, &now = agent_->port();
    PortWatch::News news;
    if (now.lid != opened.lid || now.gid() != opened.gid()) {
        news.missing.push_back(opened.gid());
        complain(
            {EADDRNOTAVAIL, fmt::format("{}: the subnet manager has given the port another address (LID {}, was {}); "
                                        "end the program, and start it again",
                                        port().name(), wire::to_string(now.lid), wire::to_string(opened.lid))});
    }
    link_changed(news);
}

void FabricNetwork::find_neighbour(Ticket ticket, const wire::Gid& /*from*/, const wire::Gid& to,
                                   NeighbourHandler handler) {
    finding_.insert_or_assign(ticket, std::move(handler));
    around().later([this, ticket, to] {
        neighbours_->find(ticket, to, [this, ticket](const Result<wire::Gid>& gid) {
            answer(finding_, ticket,
                   gid ? Result<Neighbour>(Neighbour{.gid = *gid}) : Result<Neighbour>(std::unexpected(gid.error())));
        });
    });
}

void FabricNetwork::find_path(Ticket ticket, const wire::Gid& to, wire::PKey pkey, PathHandler handler) {
    resolving_.insert_or_assign(ticket, std::move(handler));
    around().later([this, ticket, to, pkey] {
        agent_->paths().resolve(
            agent_->paths().key(to, pkey), [this, ticket, to](const sa::Answer<wire::PathRecord>& path) {
                answer(resolving_, ticket,
                       path ? Result<wire::PathRecord>(*path) : std::unexpected(error_of(port(), to, path.error())));
            });
    });
}

void FabricNetwork::join(Ticket ticket, const rdmacm::GroupRequest& request, GroupHandler handler) {
    joining_.insert_or_assign(ticket, std::move(handler));
    auto like = broadcast_;
    if (like && request.qkey) like->qkey = *request.qkey;
    const auto state = request.send_only ? wire::join_state::send_only_full_member : wire::join_state::full_member;
    around().later([this, ticket, mgid = request.mgid, like, state] {
        agent_->groups().join(mgid, user_of(ticket), state, {.pkey = wire::PKey{0xffff}, .create_like = like},
                              [this, ticket, mgid](const auto& group) { granted(ticket, mgid, group); });
    });
}

/// Comes again whenever the group's record changes. Told is the first; of later ones RDMA CM hears as of a port that
/// has changed: it joins again, and tells the program.
void FabricNetwork::granted(Ticket ticket, const wire::Gid& mgid, const std::expected<sa::Group, sa::SaStatus>& group) {
    if (group) {
        const auto [told, first] = granted_.try_emplace(ticket, *group);
        if (!first) {
            if (std::exchange(told->second, *group) == *group) return;
            return around().with_service([&] { around().changed(*this, false); });
        }
    } else {
        answer(joining_, ticket,
               Result<rdmacm::JoinedGroup>(
                   failure(EINVAL, fmt::format("{}: the subnet administrator refuses group {}: {}", port().name(),
                                               wire::to_string(mgid), sa::describe(group.error())))));
        return;
    }
    const bool awaited =
        answer(joining_, ticket,
               Result<rdmacm::JoinedGroup>(rdmacm::JoinedGroup{.mgid = mgid,
                                                               .mlid = group->mlid,
                                                               .qkey = group->qkey,
                                                               .sl = group->service_level,
                                                               .hop_limit = group->hop_limit,
                                                               .traffic_class = group->traffic_class,
                                                               .mtu = static_cast<std::uint8_t>(group->mtu),
                                                               .rate = group->rate,
                                                               .flow_label = group->flow_label,
                                                               .pkey = group->pkey}));
    if (!awaited) leave_now(ticket, mgid);  // cancelled meanwhile
}

void FabricNetwork::leave_now(Ticket ticket, const wire::Gid& mgid) {
    granted_.erase(ticket);
    agent_->groups().leave(mgid, user_of(ticket));
}

void FabricNetwork::leave(Ticket ticket, const wire::Gid& mgid) {
    cancel(ticket);
    around().later([this, ticket, mgid] { leave_now(ticket, mgid); });
}

void FabricNetwork::cancel(Ticket ticket) {
    finding_.erase(ticket);
    resolving_.erase(ticket);
    joining_.erase(ticket);
    around().later([this, ticket] { neighbours_->cancel(ticket); });
}

void FabricNetwork::counters(const CounterVisitor& visit) const {
    PortNetwork::counters(visit);
    agent_->counters(visit);
    neighbours_->counters(visit);
    pair_->counters(visit);
}

}  // namespace verbline::verbs

// SPDX-License-Identifier: BSD-3-Clause
#include "control/node/subnet_service.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "control/node/ipoib_frame.h"
#include "datapath/link/member.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/pkey_table.h"

namespace verbline::node {
namespace {

/// Of all users of all members; IPoIB's own have small ids (control/ipoib).
sa::UserId user_of(hub::LaneId member, std::uint32_t user) {
    return sa::UserId{std::uint64_t{std::to_underlying(member)} << 32 | user};
}

int code_of(const sa::Failure& why) {
    return why.reason == sa::Failure::Reason::timed_out ? ETIMEDOUT : EHOSTUNREACH;
}

}  // namespace

SubnetService::SubnetService(mad::Transport& transport, control::Loop& loop, Setup setup)
    : setup_(std::move(setup)),
      loop_(loop),
      lid_(transport.port().lid),
      agent_(transport, loop),
      port_events_(agent_.on_event([this](mad::PortEvent what) { event(what); })),
      losses_(agent_.on_loss([this] {
          ++reregistrations_;
          setup_.changed();
      })) {
    open_partition(wire::default_pkey);
    for (const auto& address : setup_.addresses) open_partition(address.pkey);
}

SubnetService::~SubnetService() = default;

void SubnetService::open_partition(wire::PKey pkey) {
    auto& neighbours = neighbours_[wire::partition(pkey)];
    if (neighbours != nullptr) return;
    auto addresses = link::addresses_in(pkey, setup_.addresses);
    // All partitions have the same; without a scope only one of them can be meant.
    if (pkey == wire::default_pkey) addresses.push_back({ipoib::ipv6_link_local_of(agent_.port().gid()), 64});
    neighbours = std::make_unique<Neighbours>(
        loop_, agent_,
        Neighbours::Setup{
            .pkey = pkey,
            .qpn = link::node_ipoib_qpn,
            .addresses = std::move(addresses),
            .send = [this, pkey](const auto& to, wire::Qpn qpn, wire::Bytes packet) { send(pkey, to, qpn, packet); },
            .on_group = [this](const auto& mgid, const auto& group) { granted(mgid, group); }});
}

SubnetService::Neighbours* SubnetService::neighbours_in(wire::PKey pkey) const {
    const auto found = neighbours_.find(wire::partition(pkey));
    return found != neighbours_.end() ? found->second.get() : nullptr;
}

const SubnetService::Neighbours& SubnetService::default_neighbours() const {
    return *neighbours_in(wire::default_pkey);
}

/// Of a partition the port may be a limited member.
wire::PKey SubnetService::own_pkey(wire::PKey pkey) const {
    return wire::own_pkey(agent_.port().pkeys, pkey);
}

hub::SubnetPort SubnetService::port() const {
    return {.facts = agent_.port(),
            .reregistrations = reregistrations_,
            .broadcast = default_neighbours().broadcast_group()};
}

bool SubnetService::has_address(const hub::PortUse& use) const {
    const auto gid = agent_.port().gid();
    switch (use.family) {
        case rdmacm::Family::ib: return use.address == gid;
        case rdmacm::Family::ipv6: return use.address == ipoib::ipv6_link_local_of(gid);
        case rdmacm::Family::ipv4: break;
    }
    return false;
}

bool SubnetService::may_ask(hub::LaneId member) {
    auto& questions = members_[member].questions;
    if (questions >= max_questions) {
        counters_.subnet_queries_refused.add();
        return false;
    }
    ++questions;
    return true;
}

/// A member that has ended is told nothing.
void SubnetService::answered(hub::LaneId member, const hub::Message& what) {
    const auto asker = members_.find(member);
    if (asker == members_.end() || asker->second.questions == 0) return;
    --asker->second.questions;
    setup_.tell(member, what);
}

void SubnetService::find(hub::LaneId member, const hub::FindNeighbour& wanted) {
    if (!may_ask(member)) return setup_.tell(member, hub::NeighbourFound{wanted.to, {}, EAGAIN, wanted.pkey});
    counters_.subnet_neighbour_queries.add();
    auto* const neighbours = neighbours_in(wanted.pkey);
    if (neighbours == nullptr) return answered(member, hub::NeighbourFound{wanted.to, {}, EHOSTUNREACH, wanted.pkey});
    const auto ticket = ++last_ticket_;
    members_[member].tickets.insert(ticket);
    neighbours->find(ticket, wanted.to, [this, member, ticket, wanted](const Result<wire::Gid>& gid) {
        if (const auto asker = members_.find(member); asker != members_.end()) asker->second.tickets.erase(ticket);
        answered(member,
                 hub::NeighbourFound{wanted.to, gid.value_or(wire::Gid{}), gid ? 0 : gid.error().code, wanted.pkey});
    });
}

void SubnetService::find(hub::LaneId member, const hub::FindPath& wanted) {
    if (!may_ask(member)) return setup_.tell(member, hub::PathFound{wanted.to, wanted.pkey, {}, EAGAIN});
    counters_.subnet_path_queries.add();
    agent_.paths().resolve(
        agent_.paths().key(wanted.to, wanted.pkey), [this, member, wanted](const sa::Answer<wire::PathRecord>& path) {
            answered(member, hub::PathFound{wanted.to, wanted.pkey, path ? *path : wire::PathRecord{},
                                            path ? 0 : code_of(path.error())});
        });
}

void SubnetService::join(hub::LaneId member, const hub::JoinSubnetGroup& wanted) {
    auto& joins = members_[member].joins;
    if (!joins.contains({wanted.mgid, wanted.user}) && joins.size() >= max_joins) {
        counters_.subnet_joins_refused.add();
        return setup_.tell(member, hub::SubnetGroup{wanted.mgid, wanted.user, {}, ENOSPC});
    }
    joins.emplace(wanted.mgid, wanted.user);
    const auto* const neighbours = neighbours_in(wanted.pkey);
    auto like = (neighbours != nullptr ? *neighbours : default_neighbours()).broadcast_group();
    if (like && wanted.qkey) like->qkey = *wanted.qkey;
    agent_.groups().join(wanted.mgid, user_of(member, wanted.user),
                         wanted.send_only ? wire::join_state::send_only_full_member : wire::join_state::full_member,
                         {.pkey = wanted.pkey, .create_like = like},
                         [this, member, wanted](const auto& answer) { granted(member, wanted, answer); });
}

void SubnetService::granted(hub::LaneId member, const hub::JoinSubnetGroup& wanted,
                            const std::expected<sa::Group, sa::SaStatus>& answer) {
    const auto joiner = members_.find(member);
    if (joiner == members_.end()) return;
    if (!answer) joiner->second.joins.erase({wanted.mgid, wanted.user});
    setup_.tell(member, hub::SubnetGroup{wanted.mgid, wanted.user, answer.value_or(sa::Group{}), answer ? 0 : EINVAL});
}

void SubnetService::leave(hub::LaneId member, const hub::LeaveSubnetGroup& which) {
    const auto leaver = members_.find(member);
    if (leaver == members_.end() || leaver->second.joins.erase({which.mgid, which.user}) == 0) return;
    agent_.groups().leave(which.mgid, user_of(member, which.user));
}

void SubnetService::forget(hub::LaneId member) {
    const auto gone = members_.extract(member);
    if (!gone) return;
    for (const auto ticket : gone.mapped().tickets) {
        for (const auto& [partition, neighbours] : neighbours_) neighbours->cancel(ticket);
    }
    for (const auto& [mgid, user] : gone.mapped().joins) agent_.groups().leave(mgid, user_of(member, user));
}

/// A group of IPoIB's own.
void SubnetService::granted(const wire::Gid& mgid, const sa::Group& group) {
    if (auto joined = setup_.join_link(mgid, group.mlid); !joined) counters_.ipoib_groups_failed.add();
    if (mgid == wire::ipoib_broadcast_mgid(wire::default_pkey)) setup_.changed();
}

void SubnetService::send(wire::PKey pkey, const wire::AddressHandle& to, wire::Qpn qpn, wire::Bytes packet) {
    const auto* const neighbours = neighbours_in(pkey);
    if (neighbours == nullptr || !neighbours->broadcast_group()) return;
    const auto qkey = neighbours->broadcast_group()->qkey;
    const link::SourceAddress from{.carrier = link::Carrier::soft_ib,
                                   .mac = {},
                                   .vlan = {},
                                   .ecn = false,
                                   .gid = agent_.port().gid(),
                                   .lid = lid_};
    const bool sent =
        setup_.send(make_ipoib_frame(from, {.to = to, .qpn = qpn, .qkey = qkey, .pkey = own_pkey(pkey)}, psn_, packet));
    psn_ = psn_ + 1;
    (sent ? counters_.ipoib_tx_packets : counters_.ipoib_tx_dropped_no_mbuf).add();
}

void SubnetService::received(wire::Bytes frame) {
    counters_.ipoib_rx_packets.add();
    for (const auto& [partition, neighbours] : neighbours_) {
        const auto& broadcast = neighbours->broadcast_group();
        if (!broadcast) continue;
        const auto packet = open_ipoib_frame(frame, broadcast->qkey, own_pkey(broadcast->pkey));
        if (packet) return neighbours->received(*packet);
    }
    counters_.ipoib_rx_dropped_invalid.add();
}

/// While the port has no LID members keep the last one.
void SubnetService::event(mad::PortEvent what) {
    const auto& now = agent_.port();
    if (mad::asks_for_registrations(what)) ++reregistrations_;
    if (now.lid == wire::Lid{}) return;
    if (std::exchange(lid_, now.lid) != now.lid) setup_.moved();
    setup_.changed();
}

void SubnetService::counters(const CounterVisitor& visit) const {
    counters_.each(visit);
    agent_.counters(visit);
    CounterSums sums;
    for (const auto& [partition, neighbours] : neighbours_) neighbours->counters(sums.add());
    sums.each(visit);
}

}  // namespace verbline::node

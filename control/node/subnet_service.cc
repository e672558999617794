// SPDX-License-Identifier: BSD-3-Clause
#include "control/node/subnet_service.h"

#include <cerrno>
#include <utility>

#include "control/node/ipoib_frame.h"
#include "datapath/link/member.h"
#include "datapath/wire/ipoib.h"

namespace verbline::node {
namespace {

constexpr wire::PKey default_partition{0xffff};

std::vector<link::InterfaceAddress> with_link_local(std::vector<link::InterfaceAddress> addresses,
                                                    const wire::Gid& port) {
    addresses.push_back({ipoib::ipv6_link_local_of(port), 64});
    return addresses;
}

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
      lid_(transport.port().lid),
      agent_(transport, loop),
      neighbours_(loop, agent_,
                  {.pkey = default_partition,
                   .qpn = link::node_ipoib_qpn,
                   .addresses = with_link_local(setup_.addresses, transport.port().gid()),
                   .send = [this](const auto& to, wire::Qpn qpn, wire::Bytes packet) { send(to, qpn, packet); },
                   .on_group = [this](const auto& mgid, const auto& group) { granted(mgid, group); }}),
      port_events_(agent_.on_event([this](mad::PortEvent what) { event(what); })),
      losses_(agent_.on_loss([this] {
          ++reregistrations_;
          setup_.changed();
      })) {}

SubnetService::~SubnetService() = default;

hub::SubnetPort SubnetService::port() const {
    return {.facts = agent_.port(), .reregistrations = reregistrations_, .broadcast = neighbours_.broadcast_group()};
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
    if (!may_ask(member)) return setup_.tell(member, hub::NeighbourFound{wanted.to, {}, EAGAIN});
    counters_.subnet_neighbour_queries.add();
    const auto ticket = ++last_ticket_;
    members_[member].tickets.insert(ticket);
    neighbours_.find(ticket, wanted.to, [this, member, ticket, to = wanted.to](const Result<wire::Gid>& gid) {
        if (const auto asker = members_.find(member); asker != members_.end()) asker->second.tickets.erase(ticket);
        answered(member, hub::NeighbourFound{to, gid.value_or(wire::Gid{}), gid ? 0 : gid.error().code});
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
    auto like = neighbours_.broadcast_group();
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
    for (const auto ticket : gone.mapped().tickets) neighbours_.cancel(ticket);
    for (const auto& [mgid, user] : gone.mapped().joins) agent_.groups().leave(mgid, user_of(member, user));
}

/// A group of IPoIB's own.
void SubnetService::granted(const wire::Gid& mgid, const sa::Group& group) {
    if (auto joined = setup_.join_link(mgid, group.mlid); !joined) counters_.ipoib_groups_failed.add();
    if (mgid == wire::ipoib_broadcast_mgid(default_partition)) setup_.changed();
}

void SubnetService::send(const wire::AddressHandle& to, wire::Qpn qpn, wire::Bytes packet) {
    const auto& broadcast = neighbours_.broadcast_group();
    if (!broadcast) return;
    const link::SourceAddress from{.carrier = link::Carrier::soft_ib,
                                   .mac = {},
                                   .vlan = {},
                                   .ecn = false,
                                   .gid = agent_.port().gid(),
                                   .lid = lid_};
    const bool sent = setup_.send(make_ipoib_frame(
        from, {.to = to, .qpn = qpn, .qkey = broadcast->qkey, .pkey = default_partition}, psn_, packet));
    psn_ = psn_ + 1;
    (sent ? counters_.ipoib_tx_packets : counters_.ipoib_tx_dropped_no_mbuf).add();
}

void SubnetService::received(wire::Bytes frame) {
    counters_.ipoib_rx_packets.add();
    const auto& broadcast = neighbours_.broadcast_group();
    const auto packet = broadcast ? open_ipoib_frame(frame, broadcast->qkey) : std::nullopt;
    if (!packet) return counters_.ipoib_rx_dropped_invalid.add();
    neighbours_.received(*packet);
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
    neighbours_.counters(visit);
}

}  // namespace verbline::node

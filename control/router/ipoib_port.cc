// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/ipoib_port.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "control/sa/address_handle.h"
#include "datapath/link/ip_gid.h"
#include "datapath/link/soft_ib.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/text.h"

namespace verbline::router {
namespace {

using link::soft_ib::mac_of;

/// User id of the broadcast group's join by this class.
constexpr sa::UserId interface_itself{1};

/// By which the subnet administrator is asked for groups and paths: in requests, as in MGIDs (RFC 4391, 4), a
/// partition is named by the P_Key of its full members.
constexpr wire::PKey named(wire::PKey pkey) {
    return wire::PKey{static_cast<std::uint16_t>(0x8000u | wire::partition(pkey))};
}

}  // namespace

IpoibPort::IpoibPort(control::Loop& loop, ShardLinks& shards, const Setup& setup, const Link& link, sa::Agent& agent)
    : ControlPort(loop, shards, setup, wire::IpoibAddress{}),
      link_(link),
      agent_(agent),
      mgid_(wire::ipoib_broadcast_mgid(link.pkey)),
      groups_(agent, {.pkey = named(link.pkey),
                      .on_joined = [this](const wire::Gid& mgid, const sa::Group& group) { attach(mgid, group.mlid); },
                      .send =
                          [this](const wire::AddressHandle& to, wire::Bytes packet) {
                              const bool ipv4 = wire::load8(packet, 0) >> 4 == 4;
                              transmit(packet,
                                       group_destination(to, ipv4 ? wire::ether_type::ipv4 : wire::ether_type::ipv6));
                          }}),
      memberships_(agent, loop, memberships_setup()) {
    port_events_ = agent_.on_event([this](mad::PortEvent event) { port_event(event); });
    path_changes_ = agent_.paths().on_change([this](const sa::PathKey& key, const auto&) {
        if (in_partition(key.pkey)) locate_all();
    });
    join_broadcast_group();
    reconcile();
}

IpoibPort::~IpoibPort() {
    agent_.groups().leave(mgid_, interface_itself);
}

void IpoibPort::join_broadcast_group() {
    refused_ = false;
    agent_.groups().join(mgid_, interface_itself, wire::join_state::full_member,
                         {.pkey = named(link_.pkey), .create_like = {}},
                         [this](const auto& answer) { broadcast_group(answer); });
}

void IpoibPort::port_event(mad::PortEvent) {
    if (refused_) join_broadcast_group();
    reconcile();
    locate_all();
}

void IpoibPort::broadcast_group(const std::expected<sa::Group, sa::SaStatus>& answer) {
    if (answer) {
        ipoib_counters_.broadcast_joins.add();
        group_ = *answer;
        groups_.set_broadcast(mgid_, *group_);
        join_groups();
        memberships_.set_broadcast(*group_);
        return reconcile();
    }
    ipoib_counters_.broadcast_refused.add();
    refused_ = true;
    set_trouble(fmt::format("the subnet administrator refuses the broadcast group {}: {}", to_string(mgid_),
                            sa::describe(answer.error())));
}

void IpoibPort::reconcile() {
    const auto& port = agent_.port();
    if (port.state == wire::PortState::down) return go_down("the port is down");
    if (port.lid == wire::Lid{}) return set_trouble("waiting for the subnet manager to give the port a LID");
    const auto pkey = own_pkey();
    if (!pkey) {
        return go_down(
            fmt::format("P_Key {} is not in the port's table: the subnet manager assigns it no such partition",
                        to_string(link_.pkey)));
    }
    if (!group_) return set_trouble(fmt::format("waiting to be let into the broadcast group {}", to_string(mgid_)));
    set_trouble({});

    const ipoib::Identity now{.port = {.carrier = link::Carrier::soft_ib, .gid = port.gid(), .lid = port.lid},
                              .qpn = link_.qpn,
                              .pkey = *pkey,
                              .qkey = group_->qkey};
    if (up() && now == identity_ && attached_ == group_->mlid) return;
    identity_ = now;
    // The shard filters anyway; filtering in the device is an optimization.
    (void)device().set_identity({.mac = mac_of(now.port.lid), .pkey = now.pkey, .qpn = now.qpn});
    if (attached_ != wire::Lid{} && attached_ != group_->mlid) {
        (void)device().detach_multicast({.mac = mac_of(attached_), .mgid = mgid_, .mlid = attached_});
    }
    attached_ = group_->mlid;
    const pmd::MulticastAddress group{.mac = mac_of(attached_), .mgid = mgid_, .mlid = attached_};
    (void)device().attach_multicast(group);
    shards().send(SetIpoib{id(), now});
    shards().send(AttachGroup{id(), group});
    for (const auto& [mgid, mlid] : std::exchange(groups_attached_, {})) attach(mgid, mlid);
    link_is_up(wire::IpoibAddress{.qpn = now.qpn, .gid = now.port.gid});
    memberships_.locate_again();
}

/// That of the partition in the P_Key table. If it has both memberships, the configured one; a limited member must not
/// send as a full one (IBTA volume 1, 10.9.3).
std::optional<wire::PKey> IpoibPort::own_pkey() const {
    const auto& table = agent_.port().pkeys;
    const auto found = std::ranges::find(table, link_.pkey);
    const auto other = std::ranges::find_if(table, [this](auto pkey) { return in_partition(pkey); });
    if (found != table.end()) return *found;
    return other != table.end() ? std::optional(*other) : std::nullopt;
}

void IpoibPort::go_down(std::string trouble) {
    set_trouble(std::move(trouble));
    if (!up()) return;
    link_is_down();
    shards().send(SetIpoib{id(), std::nullopt});
}

/// Carrier does not change the subnet membership, but announcements made while it was down were lost.
void IpoibPort::carrier_changed() {
    if (carrier()) announce();
}

void IpoibPort::locate(const neighbour::LinkAddress& hardware, wire::EtherType type, Located located) {
    const auto& address = std::get<wire::IpoibAddress>(hardware);
    agent_.paths().resolve(agent_.paths().key(address.gid, named(link_.pkey)),
                           [this, qpn = address.qpn, type, located](const sa::Answer<wire::PathRecord>& path) {
                               if (!path) return ipoib_counters_.paths_failed.add();
                               located(ipoib::destination(identity_, sa::address_handle(*path), qpn, type));
                           });
}

std::optional<link::Destination> IpoibPort::broadcast(wire::EtherType type) const {
    if (!group_) return std::nullopt;
    return ipoib::destination(identity_, sa::address_handle(*group_, mgid_), wire::multicast_qpn, type);
}

void IpoibPort::listen(const std::vector<wire::Gid>& groups) {
    heard_ = groups;
    join_groups();
}

void IpoibPort::join_groups() {
    if (!group_) return;
    for (const auto& group : heard_) groups_.listen(group);
}

void IpoibPort::attach(const wire::Gid& mgid, wire::Lid mlid) {
    const auto known = groups_attached_.find(mgid);
    if (known != groups_attached_.end() && known->second == mlid) return;
    const auto group = [&](wire::Lid at) { return pmd::MulticastAddress{mac_of(at), mgid, at}; };
    if (known != groups_attached_.end()) {
        (void)device().detach_multicast(group(known->second));
        shards().send(DetachGroup{id(), group(known->second)});
    }
    groups_attached_.insert_or_assign(mgid, mlid);
    (void)device().attach_multicast(group(mlid));
    shards().send(AttachGroup{id(), group(mlid)});
}

void IpoibPort::send_to_group(const wire::Gid& group, std::vector<std::byte> packet) {
    groups_.send(group, std::move(packet));
}

void IpoibPort::detach(const wire::Gid& mgid) {
    const auto known = groups_attached_.find(mgid);
    const auto own = [&](const wire::Gid& group) { return ipoib::mgid_of(group, link_.pkey) == mgid; };
    if (known == groups_attached_.end() || std::ranges::any_of(heard_, own)) return;
    const pmd::MulticastAddress group{mac_of(known->second), mgid, known->second};
    (void)device().detach_multicast(group);
    shards().send(DetachGroup{id(), group});
    groups_attached_.erase(known);
}

ipoib::GroupMemberships::Setup IpoibPort::memberships_setup() {
    return {.pkey = link_.pkey,
            .attach = [this](const wire::Gid& mgid, wire::Lid mlid) { attach(mgid, mlid); },
            .detach = [this](const wire::Gid& mgid) { detach(mgid); },
            .located =
                [this](const wire::Gid& group, const wire::AddressHandle& to) {
                    const auto type = link::ipv4_of(group) ? wire::ether_type::ipv4 : wire::ether_type::ipv6;
                    if (up()) shards().send(SetNeighbour{id(), group, group_destination(to, type)});
                },
            .unreachable =
                [this](const wire::Gid& group) {
                    shards().send(FailNeighbour{id(), group});
                    shards().send(ForgetNeighbour{id(), group});
                },
            .changed = [this] { groups_changed_(); }};
}

link::Destination IpoibPort::group_destination(const wire::AddressHandle& to, wire::EtherType type) const {
    return ipoib::destination(identity_, to, wire::multicast_qpn, type);
}

void IpoibPort::resolve_group(const wire::Gid& group, bool routed) {
    if (routed) {
        memberships_.send(group, true);
    } else {
        memberships_.resolve(group);
    }
}

std::optional<wire::Gid> IpoibPort::group_of(const wire::Gid& mgid) const {
    const auto known = memberships_.group_of(mgid);
    return known ? known : ipoib::group_of(mgid);
}

void IpoibPort::look_for_group(const wire::Gid& group) {
    memberships_.look_for(group);
}

void IpoibPort::set_trouble(std::string trouble) {
    if (trouble == trouble_) return;
    trouble_ = std::move(trouble);
    on_trouble_(trouble_);
}

void IpoibPort::counters(const CounterVisitor& visit) const {
    ControlPort::counters(visit);
    ipoib_counters_.each(visit);
    groups_.counters(visit);
    memberships_.counters(visit);
    if (link_.shows_agent) agent_.counters(visit);
}

}  // namespace verbline::router

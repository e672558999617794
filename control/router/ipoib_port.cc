// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/ipoib_port.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "control/sa/address_handle.h"
#include "datapath/link/soft_ib.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/text.h"

namespace verbline::router {
namespace {

using link::soft_ib::mac_of;

/// User id of the broadcast group's join by this class.
constexpr sa::UserId interface_itself{1};

}  // namespace

IpoibPort::IpoibPort(control::Loop& loop, ShardLinks& shards, const Setup& setup, const Link& link, sa::Agent& agent)
    : ControlPort(loop, shards, setup, wire::IpoibAddress{}),
      link_(link),
      agent_(agent),
      mgid_(wire::ipoib_broadcast_mgid(link.pkey)),
      ipv6_groups_(agent,
                   {.pkey = link.pkey,
                    .on_joined = [this](const wire::Gid& mgid, const sa::Group& group) { attach(mgid, group.mlid); },
                    .send =
                        [this](const wire::AddressHandle& to, wire::Bytes packet) {
                            transmit(packet,
                                     ipoib::destination(identity_, to, wire::multicast_qpn, wire::ether_type::ipv6));
                        }}) {
    agent_.on_event([this](mad::PortEvent event) { port_event(event); });
    agent_.paths().on_change([this](const sa::PathKey&, const auto&) { locate_all(); });
    agent_.groups().join(mgid_, interface_itself, wire::join_state::full_member,
                         {.pkey = link_.pkey, .create_like = {}},
                         [this](const auto& answer) { broadcast_group(answer); });
    reconcile();
}

IpoibPort::~IpoibPort() {
    agent_.on_event({});
    agent_.paths().on_change({});
    agent_.groups().leave(mgid_, interface_itself);
}

void IpoibPort::port_event(mad::PortEvent) {
    reconcile();
    locate_all();
}

void IpoibPort::broadcast_group(const std::expected<sa::Group, sa::SaStatus>& answer) {
    if (answer) {
        ipoib_counters_.broadcast_joins.add();
        group_ = *answer;
        ipv6_groups_.set_broadcast(mgid_, *group_);
        join_ipv6_groups();
        return reconcile();
    }
    ipoib_counters_.broadcast_refused.add();
    set_trouble(fmt::format("the subnet administrator refuses the broadcast group {}: {}", to_string(mgid_),
                            sa::describe(answer.error())));
}

void IpoibPort::reconcile() {
    const auto& port = agent_.port();
    if (port.state == wire::PortState::down) return go_down();
    if (port.lid == wire::Lid{}) return set_trouble("waiting for the subnet manager to give the port a LID");
    if (std::ranges::none_of(port.pkeys, [&](auto pkey) { return partition(pkey) == partition(link_.pkey); })) {
        return set_trouble(fmt::format("P_Key {} is not in the port's table", to_string(link_.pkey)));
    }
    if (!group_) return set_trouble(fmt::format("waiting to be let into the broadcast group {}", to_string(mgid_)));
    set_trouble({});

    const ipoib::Identity now{.port = {.carrier = link::Carrier::soft_ib, .gid = port.gid(), .lid = port.lid},
                              .qpn = link_.qpn,
                              .pkey = link_.pkey,
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
    for (const auto& [mgid, mlid] : std::exchange(ipv6_attached_, {})) attach(mgid, mlid);
    link_is_up(wire::IpoibAddress{.qpn = now.qpn, .gid = now.port.gid});
}

void IpoibPort::go_down() {
    set_trouble("the port is down");
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
    agent_.paths().resolve(agent_.paths().key(address.gid, link_.pkey),
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
    join_ipv6_groups();
}

void IpoibPort::join_ipv6_groups() {
    if (!group_) return;
    for (const auto& group : heard_) ipv6_groups_.listen(group);
}

void IpoibPort::attach(const wire::Gid& mgid, wire::Lid mlid) {
    const auto known = ipv6_attached_.find(mgid);
    if (known != ipv6_attached_.end() && known->second == mlid) return;
    const auto group = [&](wire::Lid at) { return pmd::MulticastAddress{mac_of(at), mgid, at}; };
    if (known != ipv6_attached_.end()) {
        (void)device().detach_multicast(group(known->second));
        shards().send(DetachGroup{id(), group(known->second)});
    }
    ipv6_attached_.insert_or_assign(mgid, mlid);
    (void)device().attach_multicast(group(mlid));
    shards().send(AttachGroup{id(), group(mlid)});
}

void IpoibPort::send_to_group(const wire::Gid& group, std::vector<std::byte> packet) {
    ipv6_groups_.send(group, std::move(packet));
}

void IpoibPort::set_trouble(std::string trouble) {
    if (trouble == trouble_) return;
    trouble_ = std::move(trouble);
    on_trouble_(trouble_);
}

void IpoibPort::counters(const CounterVisitor& visit) const {
    ControlPort::counters(visit);
    ipoib_counters_.each(visit);
    ipv6_groups_.counters(visit);
    agent_.counters(visit);
}

}  // namespace verbline::router

// SPDX-License-Identifier: BSD-3-Clause
#include "control/ipoib/subnet_port.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "control/sa/address_handle.h"
#include "datapath/link/ip_gid.h"
#include "datapath/link/soft_ib.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/text.h"

namespace verbline::ipoib {
namespace {

using link::soft_ib::mac_of;

/// User id of the broadcast group's join by this class.
constexpr sa::UserId interface_itself{1};

/// By which the subnet administrator is asked for groups and paths: in requests, as in MGIDs (RFC 4391, 4), a
/// partition is named by the P_Key of its full members.
constexpr wire::PKey named(wire::PKey pkey) {
    return wire::full_member(pkey);
}

wire::EtherType type_of(const wire::Gid& group) {
    return link::ipv4_of(group) ? wire::ether_type::ipv4 : wire::ether_type::ipv6;
}

}  // namespace

SubnetPort::SubnetPort(control::Loop& loop, sa::Agent& agent, Setup setup)
    : agent_(agent),
      setup_(std::move(setup)),
      mgid_(wire::ipoib_broadcast_mgid(setup_.pkey)),
      groups_(agent, {.pkey = named(setup_.pkey),
                      .on_joined = [this](const wire::Gid& mgid, const sa::Group& group) { attach(mgid, group.mlid); },
                      .send =
                          [this](const wire::AddressHandle& to, wire::Bytes packet) {
                              const bool ipv4 = wire::load8(packet, 0) >> 4 == 4;
                              setup_.send(packet, group_destination(
                                                      to, ipv4 ? wire::ether_type::ipv4 : wire::ether_type::ipv6));
                          }}),
      memberships_(agent, loop, memberships_setup()) {}

SubnetPort::~SubnetPort() {
    agent_.groups().leave(mgid_, interface_itself);
}

void SubnetPort::start() {
    port_events_ = agent_.on_event([this](mad::PortEvent) { port_event(); });
    path_changes_ = agent_.paths().on_change([this](const sa::PathKey& key, const auto&) {
        if (in_partition(key.pkey)) setup_.paths_changed();
    });
    join_broadcast_group();
    reconcile();
}

void SubnetPort::join_broadcast_group() {
    refused_ = false;
    agent_.groups().join(mgid_, interface_itself, wire::join_state::full_member,
                         {.pkey = named(setup_.pkey), .create_like = {}},
                         [this](const auto& answer) { broadcast_group(answer); });
}

void SubnetPort::port_event() {
    if (refused_) join_broadcast_group();
    reconcile();
    setup_.paths_changed();
}

void SubnetPort::broadcast_group(const std::expected<sa::Group, sa::SaStatus>& answer) {
    if (answer) {
        counters_.broadcast_joins.add();
        group_ = *answer;
        groups_.set_broadcast(mgid_, *group_);
        join_groups();
        memberships_.set_broadcast(*group_);
        return reconcile();
    }
    counters_.broadcast_refused.add();
    refused_ = true;
    set_trouble(fmt::format("the subnet administrator refuses the broadcast group {}: {}", to_string(mgid_),
                            sa::describe(answer.error())));
}

void SubnetPort::reconcile() {
    const auto& port = agent_.port();
    if (port.state == wire::PortState::down) return go_down("the port is down");
    if (port.lid == wire::Lid{}) return set_trouble("waiting for the subnet manager to give the port a LID");
    const auto pkey = own_pkey();
    if (!pkey) {
        return go_down(
            fmt::format("P_Key {} is not in the port's table: the subnet manager assigns it no such partition",
                        to_string(setup_.pkey)));
    }
    if (!group_) return set_trouble(fmt::format("waiting to be let into the broadcast group {}", to_string(mgid_)));
    set_trouble({});

    const auto end = setup_.device->datagram_end();
    const Identity now{.port = {.carrier = link::Carrier::soft_ib, .gid = port.gid(), .lid = port.lid},
                       .qpn = end ? end->qpn : setup_.qpn,
                       .pkey = *pkey,
                       .qkey = group_->qkey};
    if (!up_ || now != identity_ || attached_ != group_->mlid) become(now);
}

void SubnetPort::become(const Identity& now) {
    identity_ = now;
    // The datapath filters anyway; filtering in the device is an optimization.
    auto& device = *setup_.device;
    (void)device.set_identity({.mac = mac_of(now.port.lid), .pkey = now.pkey, .qpn = now.qpn, .qkey = now.qkey});
    if (attached_ != wire::Lid{} && attached_ != group_->mlid) {
        (void)device.detach_multicast({.mac = mac_of(attached_), .mgid = mgid_, .mlid = attached_});
    }
    attached_ = group_->mlid;
    const pmd::MulticastAddress group{.mac = mac_of(attached_), .mgid = mgid_, .mlid = attached_};
    (void)device.attach_multicast(group);
    setup_.identify(now);
    setup_.attach(group);
    for (const auto& [mgid, mlid] : std::exchange(groups_attached_, {})) attach(mgid, mlid);
    up_ = true;
    setup_.up();
    memberships_.locate_again();
}

/// That of the partition in the P_Key table. If it has both memberships, the configured one; a limited member must not
/// send as a full one (IBTA volume 1, 10.9.3).
std::optional<wire::PKey> SubnetPort::own_pkey() const {
    const auto& table = agent_.port().pkeys;
    const auto found = std::ranges::find(table, setup_.pkey);
    const auto other = std::ranges::find_if(table, [this](auto pkey) { return in_partition(pkey); });
    if (found != table.end()) return *found;
    return other != table.end() ? std::optional(*other) : std::nullopt;
}

void SubnetPort::go_down(std::string trouble) {
    set_trouble(std::move(trouble));
    if (!std::exchange(up_, false)) return;
    setup_.down();
    setup_.identify(std::nullopt);
}

void SubnetPort::resolve(const wire::IpoibAddress& neighbour, std::function<void(const wire::PathRecord&)> resolved) {
    agent_.paths().resolve(agent_.paths().key(neighbour.gid, named(setup_.pkey)),
                           [this, alive = std::weak_ptr(alive_),
                            resolved = std::move(resolved)](const sa::Answer<wire::PathRecord>& path) {
                               if (alive.expired()) return;
                               if (!path) return counters_.paths_failed.add();
                               resolved(*path);
                           });
}

link::Destination SubnetPort::destination_by(const wire::PathRecord& path, wire::Qpn qpn, wire::EtherType type) const {
    return destination(identity_, sa::address_handle(path), qpn, type);
}

void SubnetPort::locate(const wire::IpoibAddress& neighbour, wire::EtherType type,
                        std::function<void(const link::Destination&)> located) {
    resolve(neighbour, [this, qpn = neighbour.qpn, type, located = std::move(located)](const wire::PathRecord& path) {
        located(destination_by(path, qpn, type));
    });
}

std::optional<link::Destination> SubnetPort::broadcast(wire::EtherType type) const {
    if (!group_) return std::nullopt;
    return group_destination(sa::address_handle(*group_, mgid_), type);
}

void SubnetPort::listen(const std::vector<wire::Gid>& groups) {
    heard_ = groups;
    join_groups();
}

void SubnetPort::join_groups() {
    if (!group_) return;
    for (const auto& group : heard_) groups_.listen(group);
}

void SubnetPort::attach(const wire::Gid& mgid, wire::Lid mlid) {
    const auto known = groups_attached_.find(mgid);
    if (known != groups_attached_.end() && known->second == mlid) return;
    const auto group = [&](wire::Lid at) { return pmd::MulticastAddress{mac_of(at), mgid, at}; };
    if (known != groups_attached_.end()) {
        (void)setup_.device->detach_multicast(group(known->second));
        setup_.detach(group(known->second));
    }
    groups_attached_.insert_or_assign(mgid, mlid);
    (void)setup_.device->attach_multicast(group(mlid));
    setup_.attach(group(mlid));
}

void SubnetPort::detach(const wire::Gid& mgid) {
    const auto known = groups_attached_.find(mgid);
    const auto own = [&](const wire::Gid& group) { return ipoib::mgid_of(group, setup_.pkey) == mgid; };
    if (known == groups_attached_.end() || std::ranges::any_of(heard_, own)) return;
    const pmd::MulticastAddress group{mac_of(known->second), mgid, known->second};
    (void)setup_.device->detach_multicast(group);
    setup_.detach(group);
    groups_attached_.erase(known);
}

GroupMemberships::Setup SubnetPort::memberships_setup() {
    return {.pkey = setup_.pkey,
            .attach = [this](const wire::Gid& mgid, wire::Lid mlid) { attach(mgid, mlid); },
            .detach = [this](const wire::Gid& mgid) { detach(mgid); },
            .located =
                [this](const wire::Gid& group, const wire::AddressHandle& to) {
                    if (up_) setup_.located(group, group_destination(to, type_of(group)));
                },
            .unreachable = [this](const wire::Gid& group) { setup_.unreachable(group); },
            .changed = [this] { setup_.groups_changed(); }};
}

link::Destination SubnetPort::group_destination(const wire::AddressHandle& to, wire::EtherType type) const {
    return destination(identity_, to, wire::multicast_qpn, type);
}

std::optional<wire::Gid> SubnetPort::group_of(const wire::Gid& mgid) const {
    const auto known = memberships_.group_of(mgid);
    return known ? known : ipoib::group_of(mgid);
}

void SubnetPort::set_trouble(std::string trouble) {
    if (trouble == trouble_) return;
    trouble_ = std::move(trouble);
    setup_.trouble(trouble_);
}

void SubnetPort::counters(const CounterVisitor& visit) const {
    counters_.each(visit);
    groups_.counters(visit);
    memberships_.counters(visit);
}

}  // namespace verbline::ipoib

// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/link_groups.h"

#include <new>
#include <tuple>
#include <utility>

#include "control/host/kernel_group.h"
#include "datapath/link/envelope.h"
#include "datapath/link/ip_gid.h"
#include "datapath/link/soft_ib.h"

namespace verbline::verbs {

wire::MacAddress ethernet_address_of_group(const wire::Gid& mgid) {
    return link::multicast_mac(link::ipv4_of(mgid) ? link::Carrier::roce_v2_ipv4 : link::Carrier::roce_v2_ipv6, mgid);
}

wire::MacAddress LinkGroups::mac_of(const wire::Gid& mgid, wire::Lid mlid) const {
    return link_.infiniband() ? link::soft_ib::mac_of(mlid) : ethernet_address_of_group(mgid);
}

pmd::MulticastAddress LinkGroups::address_of(const wire::Gid& mgid, wire::Lid mlid) const {
    return {.mac = mac_of(mgid, mlid), .mgid = mgid, .mlid = mlid};
}

Result<void> LinkGroups::join(const wire::Gid& mgid, wire::Lid mlid) {
    const auto group = address_of(mgid, mlid);
    const std::scoped_lock lock(mutex_);
    const auto [joined, first] = joined_.try_emplace(group.mac, Membership{.group = group});
    ++joined->second.users;
    try {
        if (auto in = first ? let_in(group) : Result<void>(); !in) {
            joined_.erase(joined);
            return in;
        }
        if (!link_.infiniband()) notify(mgid);
    } catch (const std::bad_alloc&) {
        let_go(group);
        throw;
    }
    return {};
}

Result<void> LinkGroups::let_in(const pmd::MulticastAddress& group) {
    if (link_.lane.control) {
        if (auto joined = hub::join_group(link_.lane, group.mac, group.mgid, group.mlid); !joined) return joined;
    }
    // A device without multicast filters accepts all groups.
    const auto error = link_.device->attach_multicast(group);
    if (error && error != std::errc::operation_not_supported) {
        if (link_.lane.control) std::ignore = hub::leave_group(link_.lane, group.mac, group.mgid, group.mlid);
        return failure(error.value(), link_.text + ": the group cannot be joined: " + error.message());
    }
    return {};
}

void LinkGroups::leave(const wire::Gid& mgid, wire::Lid mlid) {
    const std::scoped_lock lock(mutex_);
    withdraw(mgid);
    let_go(address_of(mgid, mlid));
}

void LinkGroups::let_go(const pmd::MulticastAddress& group) {
    const auto found = joined_.find(group.mac);
    if (found == joined_.end() || --found->second.users != 0) return;
    joined_.erase(found);
    // If that fails, the hub has ended or the interface was removed, and with it the membership.
    if (link_.lane.control) std::ignore = hub::leave_group(link_.lane, group.mac, group.mgid, group.mlid);
    std::ignore = link_.device->detach_multicast(group);
}

Result<void> LinkGroups::restore() const {
    for (const auto& [mac, membership] : joined_) {
        const auto& group = membership.group;
        if (auto joined = hub::join_group(link_.lane, group.mac, group.mgid, group.mlid); !joined) return joined;
    }
    return {};
}

/// If the kernel refuses, frames may still arrive, from a switch without snooping for example.
void LinkGroups::notify(const wire::Gid& mgid) {
    auto& announced = announced_[mgid];
    if (announced.users == 0) {
        if (link_.neighbours != nullptr)
            link_.neighbours->join(mgid);
        else if (!link_.interface.empty())
            if (auto joined = host::join_kernel_group(link_.ifindex, mgid)) announced.kernel = std::move(*joined);
    }
    ++announced.users;
}

void LinkGroups::withdraw(const wire::Gid& mgid) {
    const auto found = announced_.find(mgid);
    if (found == announced_.end() || --found->second.users != 0) return;
    if (link_.neighbours != nullptr) link_.neighbours->leave(mgid);
    announced_.erase(found);
}

}  // namespace verbline::verbs

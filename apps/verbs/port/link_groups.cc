// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbs/port/link_groups.h"

#include "datapath/link/envelope.h"
#include "datapath/link/ip_gid.h"
#include "datapath/link/soft_ib.h"

namespace verbline::verbs {

wire::MacAddress ethernet_address_of_group(const wire::Gid& mgid) {
    return link::multicast_mac(link::ipv4_of(mgid) ? link::Carrier::roce_v2_ipv4 : link::Carrier::roce_v2_ipv6, mgid);
}

wire::MacAddress LinkGroups::mac_of(const wire::Gid& mgid, wire::Lid mlid) const {
    return link_.fabric.lid != wire::Lid{} ? link::soft_ib::mac_of(mlid) : ethernet_address_of_group(mgid);
}

Result<void> LinkGroups::join(const wire::Gid& mgid, wire::Lid mlid) {
    const auto mac = mac_of(mgid, mlid);
    const std::scoped_lock lock(mutex_);
    if (joined_.contains(mac)) return ++joined_[mac], Result<void>();
    if (link_.lane.control) {
        if (auto joined = hub::join_group(link_.lane, mac); !joined) return joined;
    }
    // A device that knows no groups lets all of them in.
    const auto error = link_.device->attach_multicast({.mac = mac, .mgid = mgid, .mlid = mlid});
    if (error && error != std::errc::operation_not_supported) {
        if (link_.lane.control) std::ignore = hub::leave_group(link_.lane, mac);
        return failure(error.value(), link_.text + ": the group cannot be joined: " + error.message());
    }
    joined_.emplace(mac, 1);
    return {};
}

void LinkGroups::leave(const wire::Gid& mgid, wire::Lid mlid) {
    const auto mac = mac_of(mgid, mlid);
    const std::scoped_lock lock(mutex_);
    const auto found = joined_.find(mac);
    if (found == joined_.end() || --found->second != 0) return;
    joined_.erase(found);
    // Where that fails, the hub has ended or the interface is gone, and with it the membership.
    if (link_.lane.control) std::ignore = hub::leave_group(link_.lane, mac);
    std::ignore = link_.device->detach_multicast({.mac = mac, .mgid = mgid, .mlid = mlid});
}

}  // namespace verbline::verbs

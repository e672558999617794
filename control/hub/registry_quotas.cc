// SPDX-License-Identifier: BSD-3-Clause
// How much lanes and users may have. The hub's own user has no quota but those of its lanes.
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "control/hub/registry.h"

namespace verbline::hub {

template <class Count>
std::size_t Registry::sum_of_user(uid_t user, Count count) const {
    std::size_t sum = 0;
    for (const auto& [lane, tenant] : tenants_)
        if (tenant.peer.uid == user) sum += count(lane, tenant);
    return sum;
}

Registry::Answer<void> Registry::within_user_quota(uid_t user, std::size_t has, std::size_t most, std::string_view what,
                                                   std::string_view option) const {
    if (user == setup_.owner || has < most) return {};
    return std::unexpected(
        Refused{EDQUOT, fmt::format("{} keeps {} {} for a user other than its own; end some programs, or start the {} "
                                    "with a larger {}",
                                    who(), most, what, kind(), option)});
}

Registry::Answer<void> Registry::may_join(uid_t user) const {
    if (tenants_.size() >= setup_.max_lanes) {
        return std::unexpected(
            Refused{ENOSPC, fmt::format("{} is full: {} programs use it; start another with `verbline {} NAME`", who(),
                                        setup_.max_lanes, kind())});
    }
    const auto has = sum_of_user(user, [](LaneId, const Tenant&) { return 1u; });
    return within_user_quota(user, has, setup_.quotas.user_lanes, "lanes", "--user-lanes");
}

Registry::Answer<void> Registry::may_join_group(const Tenant& tenant) const {
    if (tenant.groups.size() >= setup_.quotas.lane_groups) {
        return std::unexpected(
            Refused{ENOSPC, fmt::format("{} keeps {} multicast groups for a program; leave some, or start "
                                        "the {} with a larger --lane-groups",
                                        who(), setup_.quotas.lane_groups, kind())});
    }
    const auto has = sum_of_user(tenant.peer.uid, [](LaneId, const Tenant& one) { return one.groups.size(); });
    return within_user_quota(tenant.peer.uid, has, setup_.quotas.user_groups, "multicast groups", "--user-groups");
}

Registry::Answer<void> Registry::set_group(LaneId lane, const GroupMembership& group) {
    auto& tenant = tenants_.at(lane);
    if (!group.member) {
        tenant.groups.erase(group.mac);
        return {};
    }
    if (tenant.groups.contains(group.mac)) return {};
    if (auto room = may_join_group(tenant); !room) {
        refusals_.quota_groups.add();
        return room;
    }
    tenant.groups.insert(group.mac);
    return {};
}

Registry::Answer<void> Registry::may_reserve(const Tenant& tenant) const {
    if (tenant.ports >= setup_.quotas.lane_ports) {
        return std::unexpected(
            Refused{ENOSPC, fmt::format("{} keeps {} ports for a program; release some, or start the {} with a "
                                        "larger --lane-ports",
                                        who(), setup_.quotas.lane_ports, kind())});
    }
    const auto has = sum_of_user(tenant.peer.uid, [](LaneId, const Tenant& one) { return one.ports; });
    return within_user_quota(tenant.peer.uid, has, setup_.quotas.user_ports, "ports", "--user-ports");
}

Registry::Answer<void> Registry::may_open_target(LaneId lane, std::size_t open) {
    auto room = within_user_quota(tenants_.at(lane).peer.uid, open, setup_.quotas.user_targets, "XRC targets",
                                  "--user-targets");
    if (!room) refusals_.quota_targets.add();
    return room;
}

/// A link is between two programs of a user, and counts for both.
bool Registry::may_link(LaneId one) const {
    if (direct_links(one) >= setup_.max_direct) return false;
    const auto user = tenants_.at(one).peer.uid;
    const auto ends = sum_of_user(user, [this](LaneId lane, const Tenant&) { return direct_links(lane); });
    return user == setup_.owner || ends / 2 < setup_.quotas.user_direct;
}

}  // namespace verbline::hub

// SPDX-License-Identifier: BSD-3-Clause
#include "control/multicast/group_routes.h"

#include <bit>

#include "control/multicast/group_scope.h"

namespace verbline::multicast {

PortSet GroupRoutes::hearers(const wire::Gid& gid, const Group& group) const {
    const auto kernels = group.of(Side::kernel);
    if (!is_routed(gid)) return kernels;
    const auto listening = (group.of(Side::link) | group.of(Side::fabric) | kernels) & setup_.routed;
    if (listening == 0) return kernels;
    // Who listens alone needs nothing from its own link.
    const auto others = std::has_single_bit(listening) ? setup_.routed & ~listening : setup_.routed;
    return kernels | others;
}

PortSet GroupRoutes::senders(const wire::Gid& gid, const Group& group, PortSet hears) const {
    if (!is_routed(gid)) return 0;
    return (group.of(Side::link) | group.of(Side::fabric) | (hears & setup_.subnets)) & setup_.routed;
}

GroupRoutes::Actions GroupRoutes::set(const wire::Gid& gid, InterfaceId port, Side side, bool listening) {
    const auto known = groups_.find(gid);
    if (known == groups_.end() && !listening) return {};
    auto& group = known == groups_.end() ? groups_[gid] : known->second;
    auto& listeners = group.of(side);
    listeners = listening ? listeners | bit(port) : listeners & ~bit(port);
    Actions out;
    update(gid, group, out);
    if ((group.of(Side::link) | group.of(Side::kernel) | group.of(Side::fabric)) == 0) groups_.erase(gid);
    return out;
}

GroupRoutes::Actions GroupRoutes::set_routed(InterfaceId port, bool routed) {
    setup_.routed = routed ? setup_.routed | bit(port) : setup_.routed & ~bit(port);
    Actions out;
    for (auto& [gid, group] : groups_) update(gid, group, out);
    return out;
}

/// Says what follows from the listeners and has not been said.
void GroupRoutes::update(const wire::Gid& gid, Group& group, Actions& out) const {
    const auto hears = hearers(gid, group), sends = senders(gid, group, hears);
    const auto kernels = is_routed(gid) ? group.of(Side::kernel) & setup_.routed : 0;
    for (std::size_t i = 0; i < setup_.ports; ++i) {
        const auto id = static_cast<InterfaceId>(i);
        const auto changed = (hears ^ group.hears) | (sends ^ group.sends);
        if ((changed & bit(id)) != 0) out.push_back(Use{id, gid, (hears & bit(id)) != 0, (sends & bit(id)) != 0});
    }
    if (sends != group.sends || kernels != group.kernels) out.push_back(Route{gid, sends, kernels});
    group.hears = hears, group.sends = sends, group.kernels = kernels;
}

std::vector<wire::Gid> GroupRoutes::groups() const {
    std::vector<wire::Gid> list;
    for (const auto& [gid, group] : groups_) list.push_back(gid);
    return list;
}

bool GroupRoutes::listens(const wire::Gid& gid, InterfaceId port, Side side) const {
    const auto known = groups_.find(gid);
    return known != groups_.end() && (known->second.of(side) & bit(port)) != 0;
}

}  // namespace verbline::multicast

// SPDX-License-Identifier: BSD-3-Clause
// Which lanes have links of their own with each other.
#include <algorithm>
#include <cerrno>

#include "control/hub/registry.h"
#include "datapath/link/gid_table.h"

namespace verbline::hub {
namespace {

/// The uid that the kernel shows for users not mapped into the user namespace: two such peers may differ.
constexpr uid_t overflow_user = 65534;

}  // namespace

std::expected<DirectId, int> Registry::link_directly(LaneId asker, const Direct& wanted) {
    const auto found = macs_.find(wanted.peer);
    if (setup_.max_direct == 0) return std::unexpected(EOPNOTSUPP);
    if (found == macs_.end() || found->second == asker) return std::unexpected(ENOENT);
    const auto peer = found->second;
    const auto &one = tenants_.at(asker), &other = tenants_.at(peer);
    if (!one.takes_direct || !other.takes_direct) return std::unexpected(EOPNOTSUPP);
    const bool same_user = one.peer.uid == other.peer.uid && one.peer.uid != overflow_user;
    if (!same_user || routes(one) || routes(other)) return std::unexpected(EPERM);
    const auto joins_them = [&](const auto& entry) { return entry.second.joins(asker) && entry.second.joins(peer); };
    if (std::ranges::any_of(direct_, joins_them)) return std::unexpected(EALREADY);
    if (!may_link(asker) || !may_link(peer)) {
        refusals_.quota_direct.add();
        return std::unexpected(EDQUOT);
    }
    do {
        ++last_direct_;
    } while (last_direct_ == 0 || direct_.contains(DirectId{last_direct_}));
    direct_.emplace(DirectId{last_direct_}, DirectPair{.asker = asker, .peer = peer});
    return DirectId{last_direct_};
}

void Registry::end_direct(LaneId lane, DirectId link) {
    const auto found = direct_.find(link);
    if (found != direct_.end() && found->second.joins(lane)) direct_.erase(found);
}

std::size_t Registry::direct_links(LaneId lane) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(direct_, [lane](const auto& entry) { return entry.second.joins(lane); }));
}

bool Registry::routes(const Tenant& tenant) const {
    const auto is_router = [this](const wire::Gid& gid) { return std::ranges::count(setup_.routers, gid) > 0; };
    return is_router(link::link_local_gid(tenant.mac)) ||
           std::ranges::any_of(tenant.addresses, is_router, &InterfaceAddress::gid);
}

}  // namespace verbline::hub

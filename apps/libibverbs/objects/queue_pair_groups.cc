// SPDX-License-Identifier: BSD-3-Clause
// The multicast groups of a queue pair.
#include <algorithm>

#include "apps/libibverbs/objects/queue_pair.h"
#include "datapath/link/ip_gid.h"

namespace verbline::verbs {
namespace {

wire::Gid to_gid(const ibv_gid& from) {
    wire::Gid gid;
    std::copy_n(reinterpret_cast<const std::byte*>(from.raw), gid.bytes.size(), gid.bytes.begin());
    return gid;
}

}  // namespace

Result<void> VerbsQueuePair::attach(const wire::Gid& mgid, wire::Lid mlid) {
    auto& opened = context();
    if (!opened.alive()) return failure(EIO, "the context is that of a parent process");
    if (!link::is_group(mgid)) return failure(EINVAL, "the GID is no group's");
    if (opened.port().infiniband() && !wire::is_multicast(mlid)) return failure(EINVAL, "the LID is no group's");
    const std::scoped_lock lock(groups_mutex_);
    if (groups_.contains({mgid, mlid})) return {};
    if (auto attached = native_->attach(mgid); !attached) return attached;
    if (auto joined = opened.port().groups().join(mgid, mlid); !joined) {
        std::ignore = native_->detach(mgid);
        return joined;
    }
    groups_.emplace(mgid, mlid);
    return {};
}

Result<void> VerbsQueuePair::detach(const wire::Gid& mgid, wire::Lid mlid) {
    const std::scoped_lock lock(groups_mutex_);
    if (groups_.erase({mgid, mlid}) == 0) return failure(EINVAL, "the queue pair is not in this group");
    const auto same = [&](const auto& group) { return group.first == mgid; };
    if (std::ranges::none_of(groups_, same)) std::ignore = native_->detach(mgid);
    if (context().alive()) context().port().groups().leave(mgid, mlid);
    return {};
}

bool VerbsQueuePair::attached() {
    const std::scoped_lock lock(groups_mutex_);
    return !groups_.empty();
}

extern "C" {

int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) {
    return done([&] { return VerbsQueuePair::of(qp).attach(to_gid(*gid), wire::Lid{lid}); });
}

int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) {
    return done([&] { return VerbsQueuePair::of(qp).detach(to_gid(*gid), wire::Lid{lid}); });
}

}  // extern "C"

}  // namespace verbline::verbs

// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/actions.h"

#include "control/cm/manager.h"

namespace verbline::cm {

void Actions::count(Count count) {
    manager_.count(count, id_);
}

bool Actions::claim(const RemoteEnd& queue_pair) {
    const auto owner = manager_.claim(queue_pair, id_);
    if (owner != id_) stale_ = owner;
    return owner == id_;
}

void Actions::carry_out(Time now, const mad::GmpPeer* requester) {
    for (const auto& [to, mad] : sends_) manager_.send(to, mad);
    if (stale_ == 0) return;
    if (const auto session = manager_.find(stale_)) session->mark_stale(requester, now);
}

}  // namespace verbline::cm

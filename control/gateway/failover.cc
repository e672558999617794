// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/failover.h"

namespace verbline::gateway {

unsigned FailoverChoice::look(std::array<bool, 2> works, Time now) {
    ever_ |= works[active_];
    if (!works[0]) first_since_ = 0;
    if (works[0] && first_since_ == 0) first_since_ = now;
    const bool may_leave = ever_ || now - began_ >= start_limit;
    const auto other = 1 - active_;
    if (!works[active_] && works[other] && may_leave) return active_ = other;
    if (active_ == 1 && works[0] && now - first_since_ >= return_after) return active_ = 0;
    return active_;
}

Failover::Failover(control::Loop& loop, pmd::ActiveBackup& device, mad::ActiveBackupTransport& transport,
                   std::function<void()> announce)
    : loop_(loop),
      device_(device),
      transport_(transport),
      announcements_(loop, std::move(announce)),
      choice_(loop.now()) {
    transport_.on_change([this] { look(); });
}

/// Packets first: what the change of address sends is to go by the new link.
void Failover::look() {
    const auto works = [this](unsigned i) { return device_.member_link(i) && transport_.usable(i); };
    const auto wanted = choice_.look({works(0), works(1)}, loop_.now());
    if (wanted == device_.active()) return;
    device_.select(wanted);
    transport_.select(wanted);
    announcements_.begin();
}

}  // namespace verbline::gateway

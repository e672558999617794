// SPDX-License-Identifier: BSD-3-Clause
// What the subnet manager gives a port of a soft fabric, and takes away.
#include <mutex>
#include <utility>

#include "apps/libibverbs/port/port.h"

namespace verbline::verbs {

mad::PortFacts VerbsPort::fabric() const {
    const std::scoped_lock lock(fabric_mutex_);
    return fabric_;
}

void VerbsPort::set_fabric(mad::PortFacts now) {
    if (now.pkeys.empty()) now.pkeys = {wire::PKey{0xffff}};
    std::vector<mad::PortEvent> events;
    {
        const std::scoped_lock lock(fabric_mutex_);
        if (now == fabric_) return;
        events = mad::changes(fabric_, now);
        fabric_ = now;
    }
    for (const auto event : events) {
        using enum transport::AsyncEventKind;
        if (event == mad::PortEvent::lid_change) {
            device_->set_lid(now.lid);
            dispatch({.kind = lid_change});
        }
        if (event == mad::PortEvent::pkey_change) {
            follow_pkeys(now.pkeys);
            dispatch({.kind = pkey_change});
        }
        if (event == mad::PortEvent::sm_change) dispatch({.kind = sm_change});
    }
    write_sysfs();
    tell_of_change();
}

/// Before programs are told: what they send then is in the new partitions.
void VerbsPort::follow_pkeys(const std::vector<wire::PKey>& pkeys) {
    device_->set_pkeys(pkeys);
    const std::scoped_lock lock(gsi_mutex_);
    if (gsi_ != nullptr) gsi_->set_pkeys(pkeys);
}

}  // namespace verbline::verbs

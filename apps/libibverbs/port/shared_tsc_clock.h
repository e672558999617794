// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The clock of what stands between the link and the shard: read for every burst by whoever polls, and by the control
/// path beside it.
///
/// Reading it costs no system call. Where the kernel gives processes no page with the time (User Mode Linux, and hosts
/// whose clock source is not the processor's) clock_gettime is one, and two for every packet are most of its time.
///
/// Threads: any.

#include <functional>
#include <memory>
#include <mutex>

#include "apps/libibverbs/port/spin_lock.h"
#include "apps/libibverbs/port/tsc_clock.h"

namespace verbline::verbs {

class SharedTscClock {
public:
    Time now() noexcept {
        const std::scoped_lock lock(lock_);
        return clock_.now();
    }

private:
    SpinLock lock_;
    TscClock clock_;
};

/// As devices take it, which keep it for as long as they live.
inline std::function<Time()> make_shared_clock() {
    return [clock = std::make_shared<SharedTscClock>()] { return clock->now(); };
}

}  // namespace verbline::verbs

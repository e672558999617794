// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The clock of the layers between the link and the shard: read for every burst by the polling thread, and by the
/// control path beside it.
///
/// Reading it makes no system call. Where the kernel offers no time in user space (User Mode Linux, and hosts whose
/// clock source is not the processor's) clock_gettime is one, and two for every packet would be most of its cost.
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

/// The clock as a function, as devices take it. All copies share one clock, which lives as long as they do.
inline std::function<Time()> make_shared_clock() {
    return [clock = std::make_shared<SharedTscClock>()] { return clock->now(); };
}

}  // namespace verbline::verbs

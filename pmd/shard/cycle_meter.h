// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Divides a thread's time among counters, in cycles of the time stamp counter: that runs at one rate, and costs less
/// to read than a clock.

#include <cstdint>

#include <rte_cycles.h>

#include "pmd/base/counter.h"

namespace verbline::pmd {

class CycleMeter {
public:
    /// Adds what has passed since the last call; the first call only begins.
    void charge(Counter& to) noexcept {
        const std::uint64_t now = rte_rdtsc();
        if (last_ != 0) to.add(now - last_);
        last_ = now;
    }

private:
    std::uint64_t last_ = 0;
};

}  // namespace verbline::pmd

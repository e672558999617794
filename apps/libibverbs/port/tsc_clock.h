// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The monotonic clock, read for every round of the shard, from the processor's time stamp counter: a few nanoseconds
/// where clock_gettime takes tens (more on virtual machines: a third of a polling program's time).
///
/// It is synchronised with clock_gettime every ten milliseconds, and whenever the counter jumps (that of another core
/// may lag), and never goes back. Where clock_gettime is a system call, each instance makes its own. Not thread-safe.

#include <algorithm>
#include <cstdint>

#include <rte_cycles.h>

#include "pmd/base/clock.h"

namespace verbline::verbs {

class TscClock {
public:
    TscClock()
        : ticks_per_millisecond_(rte_get_tsc_hz() / 1000),
          rate_((std::uint64_t{millisecond} << 32) / ticks_per_millisecond_) {
        set(rte_rdtsc());
    }

    Time now() noexcept {
        const auto ticks = rte_rdtsc();
        // Also true for a counter that went back: the difference is then enormous.
        if (ticks - set_at_ > set_interval * ticks_per_millisecond_) [[unlikely]]
            set(ticks);
        read_at_ = ticks;
        const auto now = base_ + static_cast<Time>((ticks - set_at_) * rate_ >> 32);
        return last_ = std::max(last_, now);
    }

    /// The counter when `now` was last called.
    std::uint64_t read_at() const noexcept { return read_at_; }
    std::uint64_t ticks(Time time) const noexcept {
        return static_cast<std::uint64_t>(time) * ticks_per_millisecond_ / millisecond;
    }

private:
    static constexpr std::uint64_t set_interval = 10;  ///< ms

    void set(std::uint64_t ticks) noexcept {
        set_at_ = ticks;
        base_ = monotonic_now();
    }

    std::uint64_t ticks_per_millisecond_, rate_;  ///< rate: nanoseconds per tick, 32 binary places
    std::uint64_t set_at_ = 0, read_at_ = 0;
    Time base_ = 0, last_ = 0;
};

}  // namespace verbline::verbs

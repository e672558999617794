// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The time stamp counter as a clock, which costs a poll loop less than the system's.

#include <cstdint>

#include <rte_cycles.h>

#include "pmd/base/time.h"

namespace verbline::traffic {

/// DPDK must have started, as it measures the counter's frequency.
class CycleClock {
public:
    /// Since construction.
    Time now() const { return nanoseconds(rte_rdtsc() - origin_); }
    Time nanoseconds(std::uint64_t cycles) const {
        return static_cast<Time>(static_cast<double>(cycles) * nanoseconds_per_cycle_);
    }

private:
    std::uint64_t origin_ = rte_rdtsc();
    double nanoseconds_per_cycle_ = static_cast<double>(second) / static_cast<double>(rte_get_tsc_hz());
};

}  // namespace verbline::traffic

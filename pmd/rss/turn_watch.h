// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Distinguishes a stalled thread from a busy one when its ring is full: the first must not hold up
/// others, the second may (backpressure).

#include <cstdint>

#include <rte_cycles.h>

#include "pmd/base/tunables.h"

namespace verbline::pmd {

class TurnWatch {
public:
    /// Call while the ring is full. `turns`: number of polls of the thread at its other end.
    bool stands_still(std::uint64_t turns) noexcept {
        const std::uint64_t now = rte_rdtsc();
        if (since_ == 0 || turns != turns_) since_ = now, turns_ = turns;
        return now - since_ >= limit_;
    }

private:
    std::uint64_t limit_ = rte_get_tsc_hz() * static_cast<std::uint64_t>(tunables::handover_stall) / second;
    std::uint64_t since_ = 0;  ///< by the time stamp counter; 0: not called yet
    std::uint64_t turns_ = 0;  ///< then
};

}  // namespace verbline::pmd

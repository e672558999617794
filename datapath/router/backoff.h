// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Idle policy of a poll core, so that several processes can share a machine's cores: spin for a while (the next burst
/// is usually near), then yield, then sleep: until something comes if all devices can signal that, or else in short
/// steps. On an isolated core, which no other thread can use, it always spins.

#include <algorithm>
#include <cstdint>

#include "pmd/base/time.h"
#include "pmd/base/tunables.h"

namespace verbline::router {

enum class Idle : std::uint8_t { spin, yield, sleep };

class Backoff {
public:
    struct Limits {
        std::uint32_t spins = tunables::idle_spins;    ///< idle polls before the first yield
        std::uint32_t yields = tunables::idle_yields;  ///< idle polls after that before the first sleep
        Time shortest = tunables::shortest_idle_sleep, longest = tunables::longest_idle_sleep;
        /// Of a sleep that packets and commands end; for the shard's timers.
        Time longest_wait = 100 * millisecond;
        bool always_spin = false;  ///< isolated core
    };

    explicit Backoff(const Limits& limits) : limits_(limits), sleep_(limits.shortest) {}

    void busy() { idle_polls_ = 0, sleep_ = limits_.shortest; }
    /// Call once per idle poll; returns what to do. For `sleep`, `sleep_time` returns how long at most, if a device has
    /// to be polled.
    Idle idle() {
        if (limits_.always_spin || idle_polls_ < limits_.spins) return ++idle_polls_, Idle::spin;
        if (idle_polls_ < limits_.spins + limits_.yields) return ++idle_polls_, Idle::yield;
        slept_ = sleep_;
        sleep_ = std::min(sleep_ * 2, limits_.longest);
        return Idle::sleep;
    }
    Time sleep_time() const { return slept_; }

private:
    Limits limits_;
    std::uint32_t idle_polls_ = 0;
    Time sleep_, slept_ = 0;
};

}  // namespace verbline::router

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Idle policy of a poll core, so that several processes can share a machine's cores: spin for a while (the next burst
/// is usually near), then yield, then sleep: until something comes if all devices can signal that, or else in short
/// steps. On an isolated core, which no other thread can use, it always spins.
///
/// It stays awake for as long as the sleep costs that it may spare (the rule of ski rental: at most twice the least
/// possible): a few microseconds where an event ends the sleep, and where nothing does, about what a sleep may make a
/// packet wait. Not for a number of polls: one of a tap is a system call, one of a ring reads memory.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "pmd/base/time.h"
#include "pmd/base/tunables.h"

namespace verbline::router {

enum class Idle : std::uint8_t { spin, yield, sleep };

class Backoff {
public:
    struct Limits {
        /// From the first idle poll to the first sleep, where events end that; where a device has to be polled.
        Time awake = tunables::idle_awake, awake_polling = tunables::idle_awake_polling;
        Time shortest = tunables::shortest_idle_sleep, longest = tunables::longest_idle_sleep;
        /// Of a sleep that packets and commands end; for the shard's timers.
        Time longest_wait = 100 * millisecond;
        bool always_spin = false;  ///< isolated core
    };

    explicit Backoff(const Limits& limits) : limits_(limits), sleep_(limits.shortest) {}

    void busy() { is_idle_ = false, sleep_ = limits_.shortest; }
    /// Call once per idle poll, with its time; returns what to do. For `sleep`, `sleep_time` returns how long at most,
    /// if a device has to be polled.
    Idle idle(Time now) {
        if (!std::exchange(is_idle_, true)) since_ = now;
        const auto awake = events_end_sleep_ ? limits_.awake : limits_.awake_polling;
        if (limits_.always_spin || now - since_ < awake / 2) return Idle::spin;
        if (now - since_ < awake) return Idle::yield;
        slept_ = sleep_;
        sleep_ = std::min(sleep_ * 2, limits_.longest);
        return Idle::sleep;
    }
    Time sleep_time() const { return slept_; }
    /// Whether events would have ended the last sleep, and so will the next one's.
    void events_end_sleep(bool they_do) { events_end_sleep_ = they_do; }

private:
    Limits limits_;
    bool is_idle_ = false, events_end_sleep_ = false;
    Time since_ = 0;  ///< the first idle poll
    Time sleep_, slept_ = 0;
};

}  // namespace verbline::router

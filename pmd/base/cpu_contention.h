// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Whether other programs compete with a polling thread for its CPU.
///
/// A thread that polls in vain yields its CPU now and then. On an idle machine, or one where the others are peers that
/// yield in turn, it goes on within microseconds. Where a compute-bound process waits for the CPU the thread is away
/// for a time slice: milliseconds. That tells; from then on it is cheaper to block until a packet arrives, since the
/// scheduler lets a thread that is woken go before those that compute.
///
/// The answer holds for a while. Then the thread polls as it did before, and finds out anew: twice as long each time
/// that the answer soon is the same, so that a machine that stays busy is hardly ever asked.
///
/// Times are of any unit and one clock. Threads: any; two that report at once may both be heard, which is harmless.

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace verbline::pmd {

class CpuContention {
public:
    struct Limits {
        std::uint64_t time_slice;  ///< who is away for so long has lost its CPU to somebody who computes
        std::uint64_t shortest_hold, longest_hold;
    };

    explicit CpuContention(const Limits& limits) : limits_(limits) {}

    /// It is `now`, and the thread was away for `away`.
    void went_on(std::uint64_t now, std::uint64_t away) noexcept {
        if (away < limits_.time_slice) return;
        const auto until = until_.load(std::memory_order_relaxed), hold = hold_.load(std::memory_order_relaxed);
        if (now < until) return;
        const bool again = now - until < hold;
        const auto next = again ? std::min(2 * hold, limits_.longest_hold) : limits_.shortest_hold;
        hold_.store(next, std::memory_order_relaxed);
        until_.store(now + next, std::memory_order_relaxed);
    }

    bool contended(std::uint64_t now) const noexcept { return now < until_.load(std::memory_order_relaxed); }

private:
    const Limits limits_;
    std::atomic<std::uint64_t> until_{0}, hold_{0};
};

}  // namespace verbline::pmd

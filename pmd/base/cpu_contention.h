// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Detects whether other programs compete with a polling thread for its CPU.
///
/// A polling thread that finds no work yields its CPU at intervals. On an idle machine, or one whose other threads
/// yield too, it runs again within microseconds. If a compute-bound process is runnable on the CPU, the thread
/// loses a time slice: milliseconds. From then on it is cheaper to block until a packet arrives, since the scheduler
/// runs a woken thread before compute-bound ones.
///
/// The result is held for a time, after which the thread polls as before and measures again. The hold time doubles
/// whenever contention is found again soon, so that a machine that stays busy is rarely probed.
///
/// Times are in any unit, of one clock. Threads: any; concurrent reports may both take effect, which is harmless.

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace verbline::pmd {

class CpuContention {
public:
    struct Limits {
        std::uint64_t time_slice;  ///< a thread that is away for so long has lost its CPU to a compute-bound one
        std::uint64_t shortest_hold, longest_hold;
    };

    explicit CpuContention(const Limits& limits) : limits_(limits) {}

    /// Reports that the thread runs again at `now`, after it had yielded for `away`.
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

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Wakes a thread that waits for descriptors when there is work for it; while it is awake, that costs no system call.
///
///     waiting thread                               other threads
///       prepare_to_wait: waits = true                publish work
///       --------- full fence ---------               -- full fence --
///       look for work once more                      wake_up: if it waits, signal
///       wait until the descriptor is readable
///       finish_wait: waits = false
///
/// Each side writes, executes a fence and reads what the other side writes, so that one of them at least sees the
/// other's write (Dekker): either the last look finds the work, or the signal is sent.

#include <atomic>

#include "pmd/base/event_descriptor.h"

namespace verbline::pmd {

class WakeSignal {
public:
    WakeSignal() : event_(EventDescriptor::make()) {}
    WakeSignal(const WakeSignal&) = delete;
    WakeSignal& operator=(const WakeSignal&) = delete;
    ~WakeSignal() = default;

    /// False if no descriptor was left; errno is set.
    explicit operator bool() const { return static_cast<bool>(event_); }

    // The waiting thread.

    int descriptor() const { return event_.get(); }
    void prepare_to_wait() noexcept {
        waits_.store(true, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    void finish_wait() noexcept { waits_.store(false, std::memory_order_relaxed); }
    /// Clears what made the descriptor readable.
    void drain() const noexcept { event_.drain(); }

    // Any other thread.

    /// Call after publishing work. One signal for any number of calls during one wait; returns whether this call sent
    /// it.
    bool wake_up() noexcept {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (!waits_.load(std::memory_order_relaxed) || !waits_.exchange(false, std::memory_order_relaxed)) return false;
        interrupt();
        return true;
    }
    /// Ends the wait under way, or else the next one: for what the thread does not look for before it waits.
    void interrupt() const noexcept { event_.signal(); }

private:
    EventDescriptor event_;
    std::atomic<bool> waits_{false};
};

}  // namespace verbline::pmd

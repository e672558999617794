// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The lock of a queue: verbs are thread-safe (several threads may call ibv_post_send and ibv_poll_cq at a time), but
/// contention is rare.

#include <atomic>

#include <rte_pause.h>
#include <sched.h>

namespace verbline::verbs {

class SpinLock {
public:
    void lock() noexcept {
        for (unsigned tries = 0; taken_.exchange(true, std::memory_order_acquire); ++tries) {
            // The holder may have been preempted: let it run.
            if (tries > 100) sched_yield();
            rte_pause();
        }
    }
    bool try_lock() noexcept { return !taken_.exchange(true, std::memory_order_acquire); }
    void unlock() noexcept { taken_.store(false, std::memory_order_release); }

private:
    std::atomic<bool> taken_{false};
};

}  // namespace verbline::verbs

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The door between a shard and those who change what it works on: queue pairs made, moved through their states and
/// destroyed, memory given back.
///
/// A poll goes in and comes out; whoever wants to change something holds the door, and the next poll waits outside:
///
///     shard:    enter ──> poll ──> leave        a store and a fence per poll; no lock, no atomic read-modify-write
///     others:   Hold hold(door);  ...change...  waits until the shard is outside, keeps it there
///
/// Changes take microseconds and happen off the packet path, in the thread that wants them: nothing has to be sent to
/// the shard and awaited, so a shard that nobody polls right now cannot make anyone wait for ever. Passing through the
/// door once (`pass`) is a grace period: whatever the shard was doing before is done.

#include <atomic>
#include <thread>

namespace verbline::rdma {

class Door {
public:
    /// Shard. False: held; do not poll now.
    bool enter() noexcept {
        inside_.store(true, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (holders_.load(std::memory_order_acquire) == 0) [[likely]]
            return true;
        leave();
        return false;
    }
    void leave() noexcept { inside_.store(false, std::memory_order_release); }

    /// Waits until the shard is outside. Those who hold it together must agree among themselves (a mutex).
    class Hold {
    public:
        explicit Hold(Door& door) noexcept : door_(door) {
            door_.holders_.fetch_add(1, std::memory_order_seq_cst);
            std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with that of `enter`
            while (door_.inside_.load(std::memory_order_acquire)) std::this_thread::yield();
        }
        ~Hold() { door_.holders_.fetch_sub(1, std::memory_order_release); }
        Hold(const Hold&) = delete;
        Hold& operator=(const Hold&) = delete;

    private:
        Door& door_;
    };

    void pass() noexcept { const Hold once(*this); }

private:
    std::atomic<bool> inside_{false};
    std::atomic<unsigned> holders_{0};
};

}  // namespace verbline::rdma

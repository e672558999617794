// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Lets control threads change what a shard's poll loop works on (create, modify and destroy queue pairs, release
/// memory) while the loop is in a quiescent state.
///
/// A poll enters and leaves; a control thread holds the gate, and until it lets go `enter` returns false:
///
///     shard:    enter ──> poll ──> leave        a store and a fence per poll; no lock, no atomic read-modify-write
///     others:   Hold hold(gate);  ...change...  waits until the shard is outside, keeps it there
///
/// Changes take microseconds and run in the control thread, off the packet path. No command is sent to the shard and
/// awaited, so a shard that is not being polled cannot block the caller. `pass` is a grace period as in RCU: when it
/// returns, the poll that was running has ended.

#include <atomic>
#include <thread>

namespace verbline::pmd {

class QuiescentGate {
public:
    /// Shard. Returns false if the gate is held: do not poll now, and do not call `leave`.
    bool enter() noexcept {
        inside_.store(true, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (holders_.load(std::memory_order_acquire) == 0) [[likely]]
            return true;
        leave();
        return false;
    }
    void leave() noexcept { inside_.store(false, std::memory_order_release); }

    /// Waits, yielding, until the shard is outside, and keeps it there. Concurrent holders do not exclude each other:
    /// they need a mutex of their own.
    class Hold {
    public:
        explicit Hold(QuiescentGate& gate) noexcept : gate_(gate) {
            gate_.holders_.fetch_add(1, std::memory_order_seq_cst);
            std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with that of `enter`
            while (gate_.inside_.load(std::memory_order_acquire)) std::this_thread::yield();
        }
        ~Hold() { gate_.holders_.fetch_sub(1, std::memory_order_release); }
        Hold(const Hold&) = delete;
        Hold& operator=(const Hold&) = delete;

    private:
        QuiescentGate& gate_;
    };

    void pass() noexcept { const Hold once(*this); }

private:
    std::atomic<bool> inside_{false};
    std::atomic<unsigned> holders_{0};
};

}  // namespace verbline::pmd

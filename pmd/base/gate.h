// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A pointer that poll threads use during a burst and the control thread replaces or takes away between bursts.
///
/// The user's side is two plain stores and a load, without a fence; the owner pays instead: membarrier(2) puts a full
/// barrier into every running thread, after which a user either is seen to be inside or will see the new pointer.
/// (What rte_rcu_qsbr does, for users that have no quiescent states to report to a device.)
///
/// Where the kernel refuses membarrier (seccomp) the users have fences. A filter that the program installs later is
/// found by the next `set`: users have fences from then on, and for those who were inside without one it waits longer
/// than a CPU can keep a store to itself.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace verbline::pmd {

template <class T>
class Gate {
public:
    /// `users`: threads that may be inside at the same time, each under a number of its own.
    explicit Gate(std::size_t users)
        : fenced_(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0), visits_(users) {}

    /// Calls `use` with the object, unless there is none; then answers `otherwise`.
    template <class Use, class R>
    R with(std::size_t user, R otherwise, Use use) const {
        auto& visits = visits_[user].count;
        const auto inside = visits.load(std::memory_order_relaxed) + 1;
        visits.store(inside, std::memory_order_relaxed);
        if (fenced_.load(std::memory_order_relaxed)) [[unlikely]]
            std::atomic_thread_fence(std::memory_order_seq_cst);
        else
            std::atomic_signal_fence(std::memory_order_seq_cst);
        auto* const object = current_.load(std::memory_order_acquire);
        const R result = object != nullptr ? use(*object) : otherwise;
        visits.store(inside + 1, std::memory_order_release);
        return result;
    }

    /// Control thread only, as all below. Puts `next` in place and returns the object before, which nobody uses any
    /// more. Users are not held up: each goes on with one of the two, and we wait for visits under way to end.
    std::unique_ptr<T> set(std::unique_ptr<T> next) {
        owned_.swap(next);
        current_.store(owned_.get(), std::memory_order_release);
        fence_all();
        for (const auto& user : visits_) {
            const auto seen = user.count.load(std::memory_order_acquire);
            while (seen % 2 != 0 && user.count.load(std::memory_order_acquire) == seen) std::this_thread::yield();
        }
        return next;
    }
    const T* get() const { return owned_.get(); }
    /// Whether users pay for fences.
    bool fenced() const { return fenced_.load(std::memory_order_relaxed); }

private:
    void fence_all() {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (fenced() || syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return;
        fenced_.store(true);
        std::this_thread::sleep_for(longest_store);
    }

    // Stores leave a CPU within microseconds, and at the latest when it takes up another thread.
    static constexpr std::chrono::milliseconds longest_store{10};

    struct alignas(64) Visits {
        std::atomic<std::uint64_t> count{0};  ///< begun and ended: odd while the user is inside
    };
    std::atomic<bool> fenced_;
    std::atomic<T*> current_{nullptr};
    std::unique_ptr<T> owned_;
    mutable std::vector<Visits> visits_;
};

}  // namespace verbline::pmd

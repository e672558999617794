// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A pointer that poll threads use during a burst and the control thread replaces or removes between bursts.
///
/// The reader side is two plain stores and a load, without a fence; the writer pays instead: membarrier(2) executes a
/// full barrier on every running thread of the process, after which a reader is either seen to be inside or will see
/// the new pointer. (As rte_rcu_qsbr, for readers that have no quiescent states to report to a device.)
///
/// If the kernel refuses membarrier (seccomp), readers execute fences. A seccomp filter that the program installs later
/// is detected by the next `set`: readers use fences from then on, and for those inside without one it waits longer
/// than a store can stay in a CPU's store buffer.

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
    /// `users`: number of threads that may be inside at the same time, each with an index of its own below it.
    explicit Gate(std::size_t users)
        : fenced_(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0), visits_(users) {}

    /// Returns what `use` returns for the current object, or `otherwise` if there is none. `user` is the thread's
    /// index.
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

    /// Publishes `next` and returns the previous object, which no thread uses any more. Waits until calls of `with`
    /// that are under way have returned; does not delay readers. Control thread only, as all below.
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
    /// Whether readers execute fences because membarrier is not available.
    bool fenced() const { return fenced_.load(std::memory_order_relaxed); }

private:
    void fence_all() {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (fenced() || syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return;
        fenced_.store(true);
        std::this_thread::sleep_for(longest_store);
    }

    // A store becomes visible within microseconds, and at the latest at the CPU's next context switch.
    static constexpr std::chrono::milliseconds longest_store{10};

    struct alignas(64) Visits {
        std::atomic<std::uint64_t> count{0};  ///< incremented on entry and on exit: odd while the thread is inside
    };
    std::atomic<bool> fenced_;
    std::atomic<T*> current_{nullptr};
    std::unique_ptr<T> owned_;
    mutable std::vector<Visits> visits_;
};

}  // namespace verbline::pmd

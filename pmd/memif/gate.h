// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A pointer that poll threads use during a burst and the control thread takes away between bursts.
///
/// The user's side is two plain stores and a load, without a fence; the owner pays instead: membarrier(2) puts a full
/// barrier into every running thread, after which a user either is seen to be busy or will see the new pointer.
/// (What rte_rcu_qsbr does, for users that have no quiescent states to report to a device.)

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace verbline::pmd::memif {

template <class T>
class Gate {
public:
    /// `users`: threads that may be inside at the same time, each under a number of its own.
    explicit Gate(std::size_t users) : busy_(users) {
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    }

    /// Calls `use` with the object, unless there is none; then answers `otherwise`.
    template <class Use, class R>
    R with(std::size_t user, R otherwise, Use use) const {
        auto& busy = busy_[user].flag;
        busy.store(true, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        auto* const object = current_.load(std::memory_order_acquire);
        const R result = object != nullptr ? use(*object) : otherwise;
        busy.store(false, std::memory_order_release);
        return result;
    }

    /// Control thread only, as all below. Puts `next` in place and returns the object before, which nobody uses any
    /// more.
    std::unique_ptr<T> set(std::unique_ptr<T> next) {
        current_.store(nullptr, std::memory_order_release);
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
        for (auto& user : busy_) {
            while (user.flag.load(std::memory_order_acquire)) std::this_thread::yield();
        }
        owned_.swap(next);
        current_.store(owned_.get(), std::memory_order_release);
        return next;
    }
    const T* get() const { return owned_.get(); }

private:
    struct alignas(64) Busy {
        std::atomic<bool> flag{false};
    };
    std::atomic<T*> current_{nullptr};
    std::unique_ptr<T> owned_;
    mutable std::vector<Busy> busy_;
};

}  // namespace verbline::pmd::memif

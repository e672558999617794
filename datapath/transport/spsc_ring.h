// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A bounded single-producer single-consumer queue in plain memory, the lane of a completion queue. (router/ring.h is
/// its counterpart between threads of our own, based on named DPDK rings; of these there may be a million.)

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace verbline::transport {

template <class T>
class SpscRing {
public:
    /// Room for at least `capacity` values.
    explicit SpscRing(std::uint32_t capacity)
        : mask_(std::bit_ceil(capacity < 1 ? 1u : capacity) - 1), cells_(std::make_unique<T[]>(mask_ + 1)) {}

    std::uint32_t capacity() const { return mask_ + 1; }

    /// Producer: the cell for the next value, or nullptr if the ring is full. The value is visible after `push`.
    T* back() noexcept {
        const auto tail = tail_.load(std::memory_order_relaxed);
        if (tail - head_seen_ > mask_) {
            head_seen_ = head_.load(std::memory_order_acquire);
            if (tail - head_seen_ > mask_) return nullptr;
        }
        return &cells_[tail & mask_];
    }
    void push() noexcept { tail_.store(tail_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
    /// Copies a value in. Returns false if the ring is full.
    bool push(const T& value) noexcept {
        auto* const cell = back();
        if (cell == nullptr) return false;
        *cell = value;
        push();
        return true;
    }

    /// Consumer: the oldest value, or nullptr. Valid until `pop`.
    const T* front() noexcept {
        const auto head = head_.load(std::memory_order_relaxed);
        if (head == tail_seen_) {
            tail_seen_ = tail_.load(std::memory_order_acquire);
            if (head == tail_seen_) return nullptr;
        }
        return &cells_[head & mask_];
    }
    void pop() noexcept { head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

    /// Number of values. Any thread; a snapshot.
    std::uint32_t size() const noexcept {
        return tail_.load(std::memory_order_acquire) - head_.load(std::memory_order_acquire);
    }

    /// Consumer: calls `change(value)` for everything that has been pushed and not popped.
    template <class Change>
    void each(Change change) noexcept {
        tail_seen_ = tail_.load(std::memory_order_acquire);
        for (auto at = head_.load(std::memory_order_relaxed); at != tail_seen_; ++at) change(cells_[at & mask_]);
    }

private:
    std::uint32_t mask_;
    std::unique_ptr<T[]> cells_;
    alignas(64) std::atomic<std::uint32_t> tail_{0};
    std::uint32_t head_seen_ = 0;  ///< the producer's cached copy of `head_`
    alignas(64) std::atomic<std::uint32_t> head_{0};
    std::uint32_t tail_seen_ = 0;  ///< the consumer's cached copy of `tail_`
};

}  // namespace verbline::transport

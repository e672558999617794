// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A receive queue, of one queue pair or shared by many (SRQ): passes receive requests from the user's thread to the
/// shard.
///
/// Requests are taken in order but given back in any order: each queue pair on a shared queue holds the one that its
/// current message is written to. So slots lie in a pool, and two rings carry slot numbers:
///
///     user: post ──> [ posted ] ──> take :shard
///           free <── [  free  ] <── give_back
///
/// Each ring has as many places as there are slots, so neither can overflow. One thread at a time may post. The queue
/// and all queue pairs that share it belong to one shard.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <expected>
#include <memory>
#include <span>

#include "datapath/transport/send_queue.h"
#include "datapath/transport/work.h"

namespace verbline::transport {

/// A receive request in the queue.
struct ReceiveWork {
    std::uint64_t id = 0;
    std::uint32_t slot = 0;
    std::uint32_t segments = 0;

    std::span<const Segment> segment_list() const { return {reinterpret_cast<const Segment*>(this + 1), segments}; }
};

class ReceiveQueue {
public:
    struct Limits {
        std::uint32_t requests = 0, segments = 0;
    };

    /// With `asked.requests` 0 the queue does not exist and has no memory. Throws bad_alloc.
    explicit ReceiveQueue(const Limits& asked);
    bool exists() const { return memory_ != nullptr; }
    /// Discards all requests. Only while neither end is in use (RESET).
    void clear() noexcept;

    const Limits& limits() const { return limits_; }  ///< as granted: at least as requested

    /// User.
    std::expected<void, PostError> post(const ReceiveRequest& request) noexcept;

    /// Shard: takes the oldest request; nullptr if none is posted. Valid until `give_back`.
    const ReceiveWork* take() noexcept;
    void give_back(const ReceiveWork& work) noexcept {
        const auto tail = free_tail_.load(std::memory_order_relaxed);
        free_slots()[tail & mask_] = work.slot;
        free_tail_.store(tail + 1, std::memory_order_release);
    }
    /// Requests posted and not taken. Any thread; a snapshot.
    std::uint32_t waiting() const noexcept {
        return posted_tail_.load(std::memory_order_acquire) - posted_head_.load(std::memory_order_acquire);
    }

    /// Shared queues: arms the SRQ limit event, emitted once when fewer than `limit` requests are posted (IBTA
    /// 10.2.9.3). 0 disarms.
    void arm_limit(std::uint32_t limit) noexcept { limit_.store(limit, std::memory_order_relaxed); }
    std::uint32_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }
    /// Shard, after `take`: returns true once, and disarms, when fewer than `limit` requests are posted.
    bool limit_reached() noexcept;

private:
    struct Free {
        void operator()(std::byte* memory) const { std::free(memory); }
    };
    ReceiveWork& at(std::uint32_t slot) const noexcept {
        return *reinterpret_cast<ReceiveWork*>(memory_.get() + std::size_t{slot} * stride_);
    }
    // Behind the slots.
    std::uint32_t* posted_slots() const noexcept { return reinterpret_cast<std::uint32_t*>(&at(mask_ + 1)); }
    std::uint32_t* free_slots() const noexcept { return posted_slots() + mask_ + 1; }

    std::unique_ptr<std::byte, Free> memory_;
    Limits limits_;
    std::uint32_t stride_ = 0, mask_ = 0;
    // Written by the user; the shard reads the latter two and resets the limit.
    std::uint32_t free_head_ = 0, free_tail_seen_ = 0;
    std::atomic<std::uint32_t> posted_tail_{0}, limit_{0};
    // Written by the shard; the user reads the first.
    std::atomic<std::uint32_t> free_tail_{0}, posted_head_{0};
    std::uint32_t posted_tail_seen_ = 0;
};
static_assert(sizeof(ReceiveQueue) <= 64);

}  // namespace verbline::transport

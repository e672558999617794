// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A send queue: work requests from the user's thread to the shard that executes them, in order.
///
///      retired            cursor (the requester's)          posted
///         │                  │                                │
///     ────▼──────────────────▼────────────────────────────────▼─────────
///         │ sent, unconfirmed │ not sent yet                  │ free ...
///
/// Slots are of one size, chosen when the queue is made: a fixed part, then either segments or inline data. A slot is
/// free again once its request is retired and released. One thread at a time may post; it shares only two counters with
/// the shard.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <expected>
#include <memory>
#include <span>

#include "datapath/transport/work.h"
#include "datapath/wire/bytes.h"

namespace verbline::transport {

/// Why a request was not accepted; values are errno's, as ibv_post_send returns them.
enum class PostError : int { queue_full = 12 /*ENOMEM*/, invalid = 22 /*EINVAL*/ };

/// A send request in the queue, and the requester's state for it.
struct SendWork {
    std::uint64_t id = 0;
    std::uint64_t remote_address = 0;
    std::uint64_t operand[2]{};                ///< compare and swap (or add); a bind's length and rights
    const link::Envelope* envelope = nullptr;  ///< UD
    std::uint32_t length = 0;                  ///< payload bytes
    std::uint32_t immediate = 0;               ///< or the key to invalidate; a bind's new key
    wire::RKey rkey{};                         ///< a bind's window
    wire::RKey region{};                       ///< a bind's region
    std::uint32_t peer = 0;                    ///< UD: QPN; XRC: SRQ number
    wire::QKey qkey{};
    SendOperation operation{};
    std::uint8_t flags = 0;
    std::uint8_t segments = 0;
    std::uint8_t flush = 0;  ///< FETH:PLT in the low four bits, SEL above

    // State of the requester.
    Status status{};            ///< not success: the request fails with it once it is the oldest
    bool executed = false;      ///< local operation: already executed
    wire::PKey pkey{};          ///< QP1
    std::uint32_t packets = 0;  ///< PSNs it takes
    std::uint32_t done = 0;     ///< packets of a response that have arrived
    wire::Psn first;
    std::uint32_t sequence = 0;  ///< of the message: SSN (IBTA 9.7.7.2)

    bool has(SendFlag flag) const { return (flags & flag) != 0; }
    bool is_read() const { return operation == SendOperation::read; }
    bool is_atomic() const { return operation == SendOperation::compare_swap || operation == SendOperation::fetch_add; }
    bool is_local() const {
        return operation == SendOperation::local_invalidate || operation == SendOperation::bind_window;
    }
    /// Completed not by an ACK but by a response packet of its own.
    bool wants_response() const {
        return is_read() || is_atomic() || operation == SendOperation::atomic_write ||
               operation == SendOperation::flush;
    }
    /// Consumes a receive request at the peer.
    bool consumes_receive() const {
        return operation <= SendOperation::send_with_invalidate || operation == SendOperation::write_with_immediate;
    }

    /// Stored behind the fixed part.
    std::span<const Segment> segment_list() const { return {reinterpret_cast<const Segment*>(this + 1), segments}; }
    wire::Bytes inline_data() const { return {reinterpret_cast<const std::byte*>(this + 1), length}; }
};
static_assert(sizeof(SendWork) % alignof(Segment) == 0);

class SendQueue {
public:
    struct Limits {
        std::uint32_t requests = 0, segments = 0, inline_bytes = 0;
    };

    /// With `asked.requests` 0 the queue does not exist and has no memory. Throws bad_alloc.
    explicit SendQueue(const Limits& asked);
    bool exists() const { return slots_ != nullptr; }

    /// As granted: at least as requested.
    const Limits& limits() const { return limits_; }

    /// User: copies a request, and its inline data, into the queue; the shard sees it after `publish`. On error nothing
    /// has changed.
    std::expected<void, PostError> post(const SendRequest& request) noexcept;
    void publish() noexcept { posted_.store(tail_, std::memory_order_release); }
    void discard_unpublished() noexcept { tail_ = posted_.load(std::memory_order_relaxed); }

    /// Any thread: true if all requests before `mark`, an earlier value of `posted`, have been released, or the queue
    /// is empty.
    bool through(std::uint32_t mark) const noexcept {
        const auto retired = retired_.load(std::memory_order_acquire);
        return static_cast<std::int32_t>(retired - mark) >= 0 || retired == posted();
    }

    /// Shard; `posted` by any thread.
    std::uint32_t posted() const noexcept { return posted_.load(std::memory_order_acquire); }
    std::uint32_t oldest() const noexcept { return oldest_; }
    /// True if every posted request has been retired.
    bool empty() const noexcept { return oldest_ == posted(); }
    /// Retires the oldest request. `release` frees the slots of all retired ones: one store for many, since the user's
    /// thread reads the same cache line.
    void retire() noexcept { ++oldest_; }
    void release() noexcept {
        if (retired_.load(std::memory_order_relaxed) != oldest_) retired_.store(oldest_, std::memory_order_release);
    }
    /// `release` including the oldest request, which the caller retires next.
    void release_oldest() noexcept { retired_.store(oldest_ + 1, std::memory_order_release); }
    void prefetch_oldest() const noexcept { __builtin_prefetch(&at(oldest_)); }
    SendWork& at(std::uint32_t index) noexcept {
        return *reinterpret_cast<SendWork*>(slots_.get() + std::size_t{index & mask_} * stride_);
    }
    const SendWork& at(std::uint32_t index) const noexcept { return const_cast<SendQueue*>(this)->at(index); }

    /// Discards all requests. Only while neither end is in use (RESET).
    void clear() noexcept;

private:
    struct Free {
        void operator()(std::byte* memory) const { std::free(memory); }
    };

    std::unique_ptr<std::byte, Free> slots_;
    Limits limits_;
    std::uint32_t stride_ = 0;
    std::uint32_t mask_ = 0;
    std::uint32_t tail_ = 0;  ///< the user's: end of what is posted, published or not
    std::atomic<std::uint32_t> posted_{0};
    std::atomic<std::uint32_t> retired_{0};
    std::uint32_t oldest_ = 0;  ///< the shard's: end of what is retired, released or not
};
static_assert(sizeof(SendQueue) <= 64);

}  // namespace verbline::transport

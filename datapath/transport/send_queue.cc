// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/send_queue.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

namespace verbline::transport {
namespace {

constexpr std::size_t cache_line = 64;

constexpr std::size_t round_up(std::size_t n) {
    return (n + cache_line - 1) / cache_line * cache_line;
}

/// The fixed part except `length`, which the caller sets.
SendWork fixed_part(const SendRequest& request) {
    SendWork work{.id = request.id,
                  .remote_address = request.remote_address,
                  .operand = {request.compare, request.swap_or_add},
                  .envelope = request.ud.envelope,
                  .immediate = request.immediate,
                  .rkey = request.rkey,
                  .peer = request.ud.envelope != nullptr ? static_cast<std::uint32_t>(request.ud.qpn) : request.xrc_srq,
                  .qkey = request.ud.qkey,
                  .operation = request.operation,
                  .flags = request.flags,
                  .pkey = request.ud.pkey};
    if (request.operation == SendOperation::bind_window) {
        work.remote_address = request.bind.address;
        work.operand[0] = request.bind.length;
        work.operand[1] = static_cast<std::uint64_t>(request.bind.rights);
        work.rkey = request.bind.window;
        work.immediate = static_cast<std::uint32_t>(request.bind.new_key);
        work.region = request.bind.region;
    }
    if (request.operation == SendOperation::flush) {
        work.flush = static_cast<std::uint8_t>((request.flush_placement & 0xf) | (request.flush_selectivity & 3) << 4);
    }
    return work;
}

}  // namespace

SendQueue::SendQueue(const Limits& asked) : limits_(asked) {
    if (asked.requests == 0) return;
    mask_ = std::bit_ceil(asked.requests) - 1;
    const auto data = std::max(asked.segments * sizeof(Segment), std::size_t{asked.inline_bytes});
    stride_ = static_cast<std::uint32_t>(round_up(sizeof(SendWork) + data));
    // Rounding up leaves room that is granted to the user.
    const auto granted = static_cast<std::uint32_t>(stride_ - sizeof(SendWork));
    limits_.segments = std::min<std::uint32_t>(granted / sizeof(Segment), 255);
    limits_.inline_bytes = granted;
    limits_.requests = mask_ + 1;
    slots_.reset(static_cast<std::byte*>(std::aligned_alloc(cache_line, std::size_t{stride_} * (mask_ + 1))));
    if (slots_ == nullptr) throw std::bad_alloc();
}

std::expected<void, PostError> SendQueue::post(const SendRequest& request) noexcept {
    if (tail_ - retired_.load(std::memory_order_acquire) > mask_) return std::unexpected(PostError::queue_full);

    const bool inlined = (request.flags & send_inline) != 0;
    std::uint64_t length = 0;
    for (const auto& segment : request.segments) length += segment.length;
    if (inlined ? length > limits_.inline_bytes : request.segments.size() > limits_.segments) {
        return std::unexpected(PostError::invalid);
    }
    if (request.operation == SendOperation::flush) length = 0;
    if (length > max_message) return std::unexpected(PostError::invalid);

    auto* const work = new (&at(tail_)) SendWork(fixed_part(request));
    work->length = request.operation == SendOperation::flush ? request.length : static_cast<std::uint32_t>(length);
    auto* data = reinterpret_cast<std::byte*>(work + 1);
    if (inlined) {
        for (const auto& segment : request.segments) {
            if (segment.length == 0) continue;  // its address may be null, which memcpy must not be given
            // NOLINTNEXTLINE(performance-no-int-to-ptr): the verbs give addresses as numbers
            std::memcpy(data, reinterpret_cast<const void*>(segment.address), segment.length);
            data += segment.length;
        }
    } else {
        work->segments = static_cast<std::uint8_t>(request.segments.size());
        std::uninitialized_copy(request.segments.begin(), request.segments.end(), reinterpret_cast<Segment*>(data));
    }
    ++tail_;
    return {};
}

void SendQueue::clear() noexcept {
    tail_ = oldest_ = 0;
    posted_.store(0);
    retired_.store(0);
}

}  // namespace verbline::transport

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/receive_queue.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <new>

namespace verbline::transport {

ReceiveQueue::ReceiveQueue(const Limits& asked) : limits_(asked) {
    if (asked.requests == 0) return;
    limits_ = {std::bit_ceil(asked.requests), std::max(asked.segments, 1u)};
    mask_ = limits_.requests - 1;
    stride_ = static_cast<std::uint32_t>(sizeof(ReceiveWork) + limits_.segments * sizeof(Segment));
    const std::size_t size = (stride_ + 2 * sizeof(std::uint32_t)) * std::size_t{limits_.requests};
    memory_.reset(static_cast<std::byte*>(std::malloc(size)));
    if (memory_ == nullptr) throw std::bad_alloc();
    clear();
}

void ReceiveQueue::clear() noexcept {
    free_head_ = free_tail_seen_ = posted_tail_seen_ = 0;
    for (auto* const counter : {&posted_tail_, &limit_, &free_tail_, &posted_head_}) counter->store(0);
    if (!exists()) return;
    for (std::uint32_t slot = 0; slot < limits_.requests; ++slot) give_back(*new (&at(slot)) ReceiveWork{.slot = slot});
}

std::expected<void, PostError> ReceiveQueue::post(const ReceiveRequest& request) noexcept {
    if (request.segments.size() > limits_.segments) return std::unexpected(PostError::invalid);
    if (free_head_ == free_tail_seen_) {
        free_tail_seen_ = free_tail_.load(std::memory_order_acquire);
        if (free_head_ == free_tail_seen_) return std::unexpected(PostError::queue_full);
    }
    const auto slot = free_slots()[free_head_++ & mask_];
    auto& work = at(slot);
    work.id = request.id;
    work.segments = static_cast<std::uint32_t>(request.segments.size());
    std::uninitialized_copy(request.segments.begin(), request.segments.end(), reinterpret_cast<Segment*>(&work + 1));
    const auto tail = posted_tail_.load(std::memory_order_relaxed);
    posted_slots()[tail & mask_] = slot;
    posted_tail_.store(tail + 1, std::memory_order_release);
    return {};
}

const ReceiveWork* ReceiveQueue::take() noexcept {
    const auto head = posted_head_.load(std::memory_order_relaxed);
    if (head == posted_tail_seen_) {
        posted_tail_seen_ = posted_tail_.load(std::memory_order_acquire);
        if (head == posted_tail_seen_) return nullptr;
    }
    const auto& work = at(posted_slots()[head & mask_]);
    posted_head_.store(head + 1, std::memory_order_release);
    return &work;
}

bool ReceiveQueue::limit_reached() noexcept {
    const auto limit = this->limit();
    if (limit == 0 || waiting() >= limit) return false;
    limit_.store(0, std::memory_order_relaxed);
    return true;
}

}  // namespace verbline::transport

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Shared receive queues and XRC domains (IBTA volume 1, 10.2.9 and annex A14).

#include <cstdint>
#include <expected>
#include <span>

#include "datapath/transport/queue_pair_context.h"

namespace verbline::rdma {

class Device;

/// Identifies a domain: an XRC target reaches only the shared receive queues of its own domain.
class XrcDomain {
public:
    std::uint32_t id() const { return id_; }

private:
    friend class Device;
    explicit XrcDomain(std::uint32_t id) : id_(id) {}
    std::uint32_t id_;
};

class SharedReceiveQueue {
public:
    SharedReceiveQueue(Device& device, unsigned shard, const transport::ReceiveQueue::Limits& limits)
        : device_(device), shard_(shard), queue_(limits) {}
    ~SharedReceiveQueue();
    SharedReceiveQueue(const SharedReceiveQueue&) = delete;
    SharedReceiveQueue& operator=(const SharedReceiveQueue&) = delete;

    std::expected<void, transport::PostError> post(const transport::ReceiveRequest& request) noexcept {
        return queue_.queue.post(request);
    }
    /// Emits the event srq_limit_reached once when fewer than `limit` requests are posted; 0 disarms.
    void arm_limit(std::uint32_t limit) { queue_.queue.arm_limit(limit); }
    std::uint32_t limit() const { return queue_.queue.limit(); }

    std::uint32_t number() const { return queue_.number; }  ///< XRC SRQ number that peers put into requests; 0: not XRC
    const transport::ReceiveQueue::Limits& limits() const { return queue_.queue.limits(); }
    unsigned shard() const { return shard_; }
    /// Identifies this queue in events (transport::AsyncEvent::srq).
    transport::SharedReceiveQueue* id() { return &queue_; }

private:
    friend class Device;

    Device& device_;
    unsigned shard_;
    transport::SharedReceiveQueue queue_;
};

}  // namespace verbline::rdma

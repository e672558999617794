// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Receive requests shared by many queue pairs, and the domains that XRC finds them by (IBTA volume 1, 10.2.9 and annex
/// A14).

#include <cstdint>
#include <expected>
#include <span>

#include "datapath/transport/channel.h"

namespace verbline::rdma {

class Device;

/// A number; queue pairs, queues and openers of one domain see each other.
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
    /// Event srq_limit_reached, once, when fewer than `limit` requests wait.
    void arm_limit(std::uint32_t limit) { queue_.queue.arm_limit(limit); }
    std::uint32_t limit() const { return queue_.queue.limit(); }

    std::uint32_t number() const { return queue_.number; }  ///< what peers name; 0: not XRC
    const transport::ReceiveQueue::Limits& limits() const { return queue_.queue.limits(); }
    unsigned shard() const { return shard_; }
    /// What events name it by.
    transport::SharedReceiveQueue* id() { return &queue_; }

private:
    friend class Device;

    Device& device_;
    unsigned shard_;
    transport::SharedReceiveQueue queue_;
};

}  // namespace verbline::rdma

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A shard's XRC shared receive queues by number, and the XRC targets that may hold one of their requests. Internal to
/// this folder. The shard calls `find`; what changes the table is called while the shard's gate is held.

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "datapath/link/member.h"
#include "datapath/transport/queue_pair.h"

namespace verbline::rdma {

class XrcTable : public transport::XrcQueues {
public:
    transport::SharedReceiveQueue* find(std::uint32_t domain, std::uint32_t number) noexcept override {
        const auto found = queues_.find(number);
        return found != queues_.end() && found->second->xrc_domain == domain ? found->second : nullptr;
    }
    bool contains(std::uint32_t number) const { return queues_.contains(number); }
    void add(transport::SharedReceiveQueue& queue) { queues_[queue.number] = &queue; }
    /// Also makes every target drop its references to the queue.
    void remove(const transport::SharedReceiveQueue& queue) {
        queues_.erase(queue.number);
        for (auto* const target : targets_) target->forget(queue);
    }

    void add(transport::TransportQueuePair& target) { targets_.insert(&target); }
    void remove(transport::TransportQueuePair& target) { targets_.erase(&target); }

private:
    std::unordered_map<std::uint32_t, transport::SharedReceiveQueue*> queues_;
    std::unordered_set<transport::TransportQueuePair*> targets_;
};

/// The first number behind `last` that is not `used`, in 24 bits (XRCETH, IBTA annex A14) and never 0, which means
/// no XRC queue. A member of a node has those of its range, like QPNs. nullopt: all are used.
template <class Used>
std::optional<std::uint32_t> next_srq_number(std::uint32_t last, Used used,
                                             std::optional<link::MemberId> member = std::nullopt) {
    const std::uint32_t before = member ? link::first_qpn(*member) : 0;
    const std::uint32_t most = member ? link::member_queue_pairs - 1 : 0xff'ffff;
    std::uint32_t offset = last > before ? last - before : 0;
    for (std::uint32_t tries = 0; tries < most; ++tries) {
        offset = offset % most + 1;
        if (!used(before + offset)) return before + offset;
    }
    return std::nullopt;
}

}  // namespace verbline::rdma

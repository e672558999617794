// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A shard's XRC shared receive queues by number, and the XRC targets that may hold one of their requests. Internal to
/// this folder. The shard calls `find`; what changes the table is called while the shard's gate is held.

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>

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
/// no XRC queue. nullopt: all are used.
template <class Used>
std::optional<std::uint32_t> next_srq_number(std::uint32_t last, Used used) {
    constexpr std::uint32_t most = 0xff'ffff;
    for (std::uint32_t tries = 0; tries < most; ++tries) {
        last = last % most + 1;
        if (!used(last)) return last;
    }
    return std::nullopt;
}

}  // namespace verbline::rdma

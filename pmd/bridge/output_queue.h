// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Frames on their way out of a switch by one device, in order: those that its ring has no room for wait, up to a
/// limit.
///
/// Belongs to the thread that transmits on the device's queue.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pmd/netdev.h"

namespace verbline::pmd {

/// What a queue's device has taken; null: not counted. They outlive the queue.
struct OutputCounters {
    Counter* packets = nullptr;
    Counter* bytes = nullptr;
};

class OutputQueue {
public:
    explicit OutputQueue(std::size_t limit, OutputCounters sent = {}) : limit_(limit), sent_(sent) {
        waiting_.reserve(limit);
    }
    OutputQueue(OutputQueue&&) = default;
    OutputQueue& operator=(OutputQueue&&) = delete;
    ~OutputQueue();  ///< frees what waits

    /// Sends frames behind those that wait. Takes all; returns how many, the last ones, were freed because as many as
    /// the limit wait.
    std::size_t send(NetDevice& device, std::uint16_t queue, Burst frames) noexcept;
    /// Sends what waits, as far as there is room. True when none is left.
    bool flush(NetDevice& device, std::uint16_t queue) noexcept;

    bool empty() const { return waiting_.empty(); }
    std::size_t size() const { return waiting_.size(); }
    /// Those that wait already may be more.
    void set_limit(std::size_t limit) { limit_ = limit; }

private:
    std::size_t transmit(NetDevice& device, std::uint16_t queue, Burst frames) noexcept;

    std::size_t limit_;
    OutputCounters sent_;
    std::vector<rte_mbuf*> waiting_;  ///< oldest first
};

}  // namespace verbline::pmd

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Output queue of one switch port: sends frames in order, and queues those for which the device's ring has no room, up
/// to a limit.
///
/// Belongs to the thread that transmits on the device's queue.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pmd/netdev.h"

namespace verbline::pmd {

/// Counters of what the device has accepted; null: not counted. Must outlive the queue.
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
    ~OutputQueue();  ///< frees queued frames

    /// Sends `frames` after those already queued and takes ownership of all of them. Returns the number dropped from
    /// the end of the burst because the queue was full.
    std::size_t send(NetDevice& device, std::uint16_t queue, Burst frames) noexcept;
    /// Sends queued frames as far as the device has room. True if none is left.
    bool flush(NetDevice& device, std::uint16_t queue) noexcept;

    bool empty() const { return waiting_.empty(); }
    std::size_t size() const { return waiting_.size(); }
    /// Applies to later frames: frames queued already are kept, even beyond the limit.
    void set_limit(std::size_t limit) { limit_ = limit; }

private:
    std::size_t transmit(NetDevice& device, std::uint16_t queue, Burst frames) noexcept;

    std::size_t limit_;
    OutputCounters sent_;
    std::vector<rte_mbuf*> waiting_;  ///< oldest first
};

}  // namespace verbline::pmd

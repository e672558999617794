// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The pools from which threads that poll devices take packets: one for all, or one on each NUMA socket.

#include <cstddef>
#include <utility>
#include <vector>

struct rte_mempool;

namespace verbline::pmd {

/// A value; the pools are their maker's, and outlive every device that uses them.
class PacketPools {
public:
    /// NOLINTNEXTLINE(google-explicit-constructor): one pool for all threads
    PacketPools(rte_mempool* only) : by_thread_{only} {}
    /// Thread i takes its packets from pool i; at least one.
    explicit PacketPools(std::vector<rte_mempool*> by_thread) : by_thread_(std::move(by_thread)) {}

    /// The pool of the thread that polls `queue`, where queue 0 is thread 0's, and behind the last thread's comes
    /// thread 0's again.
    rte_mempool* operator[](std::size_t queue) const { return by_thread_[queue % by_thread_.size()]; }
    /// Of a device whose queue 0 is another thread's.
    PacketPools beginning_with(std::size_t thread) const {
        std::vector<rte_mempool*> turned;
        for (std::size_t i = 0; i < by_thread_.size(); ++i) turned.push_back((*this)[thread + i]);
        return PacketPools(std::move(turned));
    }

private:
    std::vector<rte_mempool*> by_thread_;
};

}  // namespace verbline::pmd

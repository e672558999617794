// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Several receive queues behind one queue pair's number, over which the device spreads datagrams by a hash of their
/// flow (RSS):
///
///     datagrams ──> queue pair ── Toeplitz ──> indirection table ──┬──> work queue 0 ──> its completion queue
///                   (its number    hash        32 entries or more  ├──> work queue 1 ──> …
///                    is known)                                     └──> …
///
/// The queue pair only receives. What belongs to no flow, as ARP, comes to the first work queue.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "datapath/wire/types.h"
#include "pmd/base/error.h"
#include "pmd/hca/completion_queue.h"
#include "pmd/hca/memory_regions.h"
#include "pmd/hca/queue_pair.h"
#include "pmd/hca/receive_queue.h"
#include "pmd/hca/states.h"
#include "pmd/hca/verbs.h"
#include "pmd/packet_pools.h"
#include "pmd/rss.h"

namespace verbline::pmd::hca {

class ReceiveSpread {
public:
    struct Setup {
        const Verbs& verbs;
        ibv_context& context;
        ibv_pd& domain;
        const MemoryRegions& regions;
        const PacketPools& pools;  ///< by queue
        QueueLimits limits;
        std::uint16_t queues = 2;         ///< and as many counters
        std::uint32_t most_entries = 32;  ///< of the indirection table
        std::uint64_t hash_fields = 0;    ///< that the device knows
        std::span<const std::uint8_t> key;
        bool verifies = false;  ///< as ReceiveQueue's
        std::vector<std::unique_ptr<QueueCounters>>& counters;
    };
    /// Error: the device does not spread so, whatever it says that it can.
    static Result<std::unique_ptr<ReceiveSpread>> create(const Setup& setup);
    ReceiveSpread(const ReceiveSpread&) = delete;
    ReceiveSpread& operator=(const ReceiveSpread&) = delete;
    ~ReceiveSpread();

    wire::Qpn number() const { return wire::Qpn{queue_pair_->qp_num}; }
    ibv_qp& handle() { return *queue_pair_; }
    const RssTable& table() const { return table_; }
    std::uint16_t queues() const { return static_cast<std::uint16_t>(work_queues_.size()); }
    ReceiveQueue& queue(std::uint16_t number) { return *work_queues_[number]->receives; }

    // Control thread, while no other uses the queues. As QueuePair's.

    Result<void> start(const QueuePair::Parameters& parameters);
    void stop();
    bool failed() const;

private:
    struct WorkQueue {
        explicit WorkQueue(CompletionQueue made) : completions(std::move(made)) {}
        // In the order of their creation.
        CompletionQueue completions;
        Owned<ibv_wq> handle;
        std::unique_ptr<ReceiveQueue> receives;
    };

    ReceiveSpread() = default;
    Result<void> add_work_queue(const Setup& setup, std::uint16_t number);
    Result<void> create_table(const Setup& setup);
    Result<void> create_queue_pair(const Setup& setup);

    const Verbs* verbs_ = nullptr;
    RssTable table_;
    // In the order of their creation.
    std::vector<std::unique_ptr<WorkQueue>> work_queues_;
    Owned<ibv_rwq_ind_table> indirection_;
    Owned<ibv_qp> queue_pair_;
};

}  // namespace verbline::pmd::hca

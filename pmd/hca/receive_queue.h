// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A receive queue, a UD queue pair's own or a work queue: buffers straight from the packet pool, which return as
/// packets.
///
/// The device puts the GRH, or 40 bytes in its place, in front of the payload (IBTA volume 1, 11.4.1.2). These go to
/// the headroom, so that a packet begins at its payload:
///
///     mbuf   │ headroom … 40 bytes │ payload                │ -> a second buffer, if the link's MTU needs it
///                         ▲ posted from here
///
/// Buffers hold the longest datagram of the link: one too short would fail the whole queue pair, and so any host of
/// the link could.

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "pmd/hca/completion_queue.h"
#include "pmd/hca/counters.h"
#include "pmd/hca/memory_regions.h"
#include "pmd/hca/port.h"
#include "pmd/hca/verbs.h"
#include "pmd/netdev.h"

namespace verbline::pmd::hca {

class ReceiveQueue {
public:
    struct Setup {
        const MemoryRegions& regions;
        rte_mempool& pool;
        ibv_qp* queue_pair = nullptr;  ///< whose queue this is; null: it is `work_queue`
        ibv_wq* work_queue = nullptr;
        CompletionQueue& completions;
        std::uint32_t depth = 0;     ///< receives that the queue takes
        std::uint16_t segments = 1;  ///< that one of its receives may have
        bool verifies = false;       ///< the device says of which packets it has verified the checksums
        HcaRxCounters& counters;
    };
    explicit ReceiveQueue(const Setup& setup);
    ReceiveQueue(const ReceiveQueue&) = delete;
    ReceiveQueue& operator=(const ReceiveQueue&) = delete;
    ~ReceiveQueue() { clear(); }

    /// While nobody receives. Frees what was posted: of a queue that has been reset.
    void clear();
    /// Likewise: what buffers must hold, and by what our own packets are known: the GID, and `own`, numbers of the
    /// device's queue pairs.
    void set_port(const PortFacts& facts, const std::vector<std::uint32_t>& own);
    /// Posts as many receives as there is room for.
    void fill();

    std::uint16_t receive(Burst burst) noexcept;
    int event() const noexcept { return setup_.completions.event(); }
    void want_event(bool wanted) noexcept { setup_.completions.want_event(wanted); }
    /// Whether the queue pair must be set up anew. Any thread.
    bool failed() const { return failed_.load(std::memory_order_relaxed); }

private:
    void post(std::size_t count);
    int give(ibv_recv_wr& first, ibv_recv_wr*& refused) noexcept;
    bool accept(const ibv_wc& completion, rte_mbuf& packet) noexcept;
    bool is_own(const ibv_wc& completion, const rte_mbuf& packet) const noexcept;
    void fail() { failed_.store(true, std::memory_order_relaxed); }

    const Setup setup_;
    std::uint32_t room_;          ///< payload bytes of one buffer
    std::uint16_t segments_ = 1;  ///< buffers of one receive
    wire::Gid gid_{};
    std::vector<std::uint32_t> own_;
    std::vector<rte_mbuf*> posted_;    ///< by the number of the request
    std::vector<std::uint32_t> free_;  ///< numbers that are not in use
    std::array<ibv_wc, max_burst> completions_;
    std::array<ibv_recv_wr, max_burst> requests_;
    std::vector<ibv_sge> pieces_;
    std::vector<rte_mbuf*> buffers_;
    std::atomic<bool> failed_{false};
};

}  // namespace verbline::pmd::hca

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One UD queue pair with its completion queues, and what is posted to it: a queue of the device.
///
///     create ──> RESET ── start: INIT, receives posted, RTR, RTS ──> runs ── failed ──> start again
///
/// The number stays the same from `create` to destruction, however often it is started.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "datapath/wire/types.h"
#include "pmd/base/error.h"
#include "pmd/hca/completion_queue.h"
#include "pmd/hca/counters.h"
#include "pmd/hca/memory_regions.h"
#include "pmd/hca/port.h"
#include "pmd/hca/receive_queue.h"
#include "pmd/hca/send_queue.h"
#include "pmd/hca/states.h"
#include "pmd/hca/verbs.h"

namespace verbline::pmd::hca {

/// The counters of a queue's two directions, which may have threads of their own; they outlive queue pairs.
struct QueueCounters {
    HcaRxCounters rx;
    alignas(64) HcaTxCounters tx;
};

/// What a device and a link allow its queue pairs.
struct QueueLimits {
    std::uint32_t receives = 0, sends = 0;
    std::uint16_t receive_segments = 1, send_segments = 1;
};

class QueuePair {
public:
    struct Setup {
        const Verbs& verbs;
        ibv_context& context;
        ibv_pd& domain;
        const MemoryRegions& regions;
        rte_mempool& pool;
        std::uint8_t port = 1;
        QueueLimits limits;
        bool receives = false;      ///< else it only sends
        bool verifies = false;      ///< as ReceiveQueue's
        std::uint32_t max_tso = 0;  ///< as SendQueue's
        std::atomic<bool>* does_tso = nullptr;
        std::optional<wire::Qpn> shared_number;  ///< of the kernel's interface, by which it is known instead of its own
        QueueCounters& counters;
    };
    static Result<std::unique_ptr<QueuePair>> create(const Setup& setup);
    QueuePair(const QueuePair&) = delete;
    QueuePair& operator=(const QueuePair&) = delete;
    ~QueuePair();

    wire::Qpn number() const { return setup_.shared_number.value_or(wire::Qpn{queue_pair_->qp_num}); }
    ibv_qp& handle() { return *queue_pair_; }

    // Control thread, while no other uses the queue pair.

    struct Parameters {
        const PortFacts& facts;
        Membership membership;
        const std::vector<std::uint32_t>& own_numbers;  ///< of all queue pairs of the device
    };
    /// Sets it up anew: what was posted is freed, and counted nowhere.
    Result<void> start(const Parameters& parameters);
    void stop();

    bool failed() const { return (receive_ && receive_->failed()) || send_->failed(); }

    // As NetDevice's, by the queue's threads.

    ReceiveQueue* receives() { return receive_.get(); }  ///< null: it only sends
    std::uint16_t send(std::span<const Datagram> burst) noexcept { return send_->send(burst); }
    void reap() noexcept { send_->reap(); }

private:
    explicit QueuePair(const Setup& setup) : setup_(setup) {}
    Result<void> create_completion_queues();
    Result<void> create_queue_pair();
    bool try_to_create(std::uint32_t inline_size);
    void create_queues();

    const Setup setup_;
    // In the order of their creation.
    std::optional<CompletionQueue> received_, sent_;
    Owned<ibv_qp> queue_pair_;
    std::uint32_t inline_size_ = 0;  ///< that requests may have
    std::unique_ptr<ReceiveQueue> receive_;
    std::unique_ptr<SendQueue> send_;
};

}  // namespace verbline::pmd::hca

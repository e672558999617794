// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An opened RDMA device, with all that was made of it at one of its ports. Once the device has failed or is removed,
/// it is destroyed, and another opened when the device is back.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "datapath/wire/types.h"
#include "pmd/base/error.h"
#include "pmd/hca/kernel_groups.h"
#include "pmd/hca/memory_regions.h"
#include "pmd/hca/offers.h"
#include "pmd/hca/port.h"
#include "pmd/hca/queue_pair.h"
#include "pmd/hca/receive_spread.h"
#include "pmd/hca/shared_number.h"
#include "pmd/hca/verbs.h"
#include "pmd/netdev.h"
#include "pmd/packet_pools.h"

namespace verbline::pmd::hca {

/// What its asynchronous events say.
struct Events {
    bool lost = false;                   ///< the device has failed, or is being removed
    bool queue_pair = false;             ///< a queue pair or work queue has failed
    unsigned queue_pairs = 0, port = 0;  ///< how many events of each kind there were
};

/// Control thread, but for the queue pairs' packets.
class Adapter {
public:
    struct Setup {
        std::string device;  ///< its name
        std::uint8_t port = 1;
        std::uint16_t queues = 1;          ///< queue pairs that send
        std::uint16_t receive_queues = 1;  ///< as many as the device spreads over, at most these; else the first of
                                           ///< the queue pairs receives
        std::span<const std::uint8_t> hash_key;  ///< by which it spreads
        std::uint32_t receives = 0;              ///< posted to each
        std::uint32_t sends = 0;                 ///< that each may have under way
        std::uint16_t send_segments = 1;
        std::uint16_t large_segments = 1;       ///< instead, if the device segments
        std::atomic<bool>* does_tso = nullptr;  ///< made false when the device fails at segmentation
        std::string beside;  ///< the kernel's interface whose number is shared; empty: it has a number of its own
        std::filesystem::path sys;  ///< where that is described
    };
    /// `counters`: one for each queue pair; they and the pools outlive the adapter.
    static Result<std::unique_ptr<Adapter>> open(const Verbs& verbs, const Setup& setup, const PacketPools& pools,
                                                 std::vector<std::unique_ptr<QueueCounters>>& counters);

    const PortFacts& facts() const { return facts_; }
    /// Reads the port again. Error: the device does not answer.
    Result<void> refresh();
    /// Whether what queue pairs were set up with has changed since.
    bool outdated(const Identity& identity) const;

    /// (Re)starts all queues. ENOENT: the port's P_Key table has no such partition.
    Result<void> start(const Identity& identity);
    void stop();
    bool running() const { return running_; }
    /// A queue has failed since it was started.
    bool failed() const;

    Events events();

    /// What it receives, if it works beside the kernel's interface. Error: the device has no such rule.
    Result<void> take(const FlowMatch& match) { return shared_->rules().add(match); }
    void leave(const FlowMatch& match) { shared_->rules().remove(match); }
    /// Rules that the device refused when it was started.
    unsigned refused_rules() const { return refused_rules_; }

    std::error_code attach(const MulticastAddress& group);
    std::error_code detach(const MulticastAddress& group);

    QueuePair& sender(std::uint16_t queue) { return *queue_pairs_[queue]; }
    std::uint16_t receive_queues() const { return static_cast<std::uint16_t>(receivers_.size()); }
    ReceiveQueue* receiver(std::uint16_t queue) { return queue < receivers_.size() ? receivers_[queue] : nullptr; }
    /// The number by which it is reached.
    wire::Qpn number() const { return spread_ ? spread_->number() : queue_pairs_.front()->number(); }
    /// How the device spreads what it receives; null: it does not.
    const RssTable* spread() const { return spread_ ? &spread_->table() : nullptr; }
    /// Why it does not, though it says that it can.
    const std::optional<Error>& spread_error() const { return spread_error_; }
    const ibv_context& context() const { return *context_; }
    std::string pkeys() const { return pkey_table(verbs_, *context_, setup_.port, facts_); }
    bool has_pkey(wire::PKey pkey) const { return find_pkey(verbs_, *context_, setup_.port, facts_, pkey).has_value(); }
    std::uint16_t send_segments() const { return limits_.send_segments; }
    /// Those of segments are made by whatever segments.
    bool does_checksums() const { return does_checksums_ || max_tso() > 0; }
    bool verifies_checksums() const { return does_checksums_; }
    std::uint32_t max_tso() const { return offers_.max_tso; }
    /// Why the device does not segment, though it says that it does.
    const std::optional<Error>& segmentation_error() const { return segmentation_error_; }

private:
    Adapter(const Verbs& verbs, const Setup& setup) : verbs_(verbs), setup_(setup) {}
    Result<void> make(const PacketPools& pools, std::vector<std::unique_ptr<QueueCounters>>& counters);
    Result<void> find_limits(const PacketPools& pools);
    Result<void> make_queue_pairs(const PacketPools& pools, std::vector<std::unique_ptr<QueueCounters>>& counters);
    void make_spread(const PacketPools& pools, std::vector<std::unique_ptr<QueueCounters>>& counters);
    ibv_qp& receiving_pair() { return spread_ ? spread_->handle() : queue_pairs_.front()->handle(); }

    const Verbs& verbs_;
    const Setup setup_;
    PortFacts facts_;
    QueueLimits limits_;
    bool does_checksums_ = false;
    Offers offers_;
    std::optional<Error> spread_error_, segmentation_error_;
    bool running_ = false;
    unsigned refused_rules_ = 0;
    PortFacts started_with_;
    std::uint16_t started_pkey_index_ = 0;
    // In the order of their creation.
    Owned<ibv_context> context_;
    Owned<ibv_pd> domain_;
    MemoryRegions regions_;
    std::unique_ptr<ReceiveSpread> spread_;  ///< null: the first queue pair receives
    std::vector<std::unique_ptr<QueuePair>> queue_pairs_;
    std::vector<ReceiveQueue*> receivers_;
    std::unique_ptr<SharedNumber> shared_;  ///< with the kernel's interface; null: the queue pairs have their own
    std::unique_ptr<KernelGroups> kernel_groups_;
};

}  // namespace verbline::pmd::hca

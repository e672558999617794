// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An opened RDMA device, with all that was made of it at one of its ports. Once the device has failed or is removed,
/// it is destroyed, and another opened when the device is back.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "datapath/wire/types.h"
#include "pmd/base/error.h"
#include "pmd/hca/kernel_groups.h"
#include "pmd/hca/memory_regions.h"
#include "pmd/hca/port.h"
#include "pmd/hca/queue_pair.h"
#include "pmd/hca/verbs.h"
#include "pmd/netdev.h"
#include "pmd/packet_pools.h"

namespace verbline::pmd::hca {

/// What its asynchronous events say.
struct Events {
    bool lost = false;                   ///< the device has failed, or is being removed
    bool queue_pair = false;             ///< a queue pair has failed
    unsigned queue_pairs = 0, port = 0;  ///< how many events of each kind there were
};

/// Control thread, but for the queue pairs' packets.
class Adapter {
public:
    struct Setup {
        std::string device;  ///< its name
        std::uint8_t port = 1;
        std::uint16_t queues = 1;    ///< queue pairs, of which the first receives
        std::uint32_t receives = 0;  ///< posted to it
        std::uint32_t sends = 0;     ///< that each may have under way
        std::uint16_t send_segments = 1;
    };
    /// `counters`: one for each queue pair; they and the pools outlive the adapter.
    static Result<std::unique_ptr<Adapter>> open(const Verbs& verbs, const Setup& setup, const PacketPools& pools,
                                                 std::vector<std::unique_ptr<QueueCounters>>& counters);

    const PortFacts& facts() const { return facts_; }
    /// Reads the port again. Error: the device does not answer.
    Result<void> refresh();
    /// Whether what queue pairs were set up with has changed since.
    bool outdated(const Identity& identity) const;

    /// (Re)starts all queue pairs. ENOENT: the port's P_Key table has no such partition.
    Result<void> start(const Identity& identity);
    void stop();
    bool running() const { return running_; }
    /// A queue pair has failed since it was started.
    bool failed() const;

    Events events();

    std::error_code attach(const MulticastAddress& group);
    std::error_code detach(const MulticastAddress& group);

    QueuePair& queue(std::uint16_t number) { return *queue_pairs_[number]; }
    const QueuePair& queue(std::uint16_t number) const { return *queue_pairs_[number]; }
    const ibv_context& context() const { return *context_; }
    std::string pkeys() const { return pkey_table(verbs_, *context_, setup_.port, facts_); }
    bool has_pkey(wire::PKey pkey) const { return find_pkey(verbs_, *context_, setup_.port, facts_, pkey).has_value(); }
    std::uint16_t send_segments() const { return limits_.send_segments; }
    bool does_checksums() const { return does_checksums_; }

private:
    Adapter(const Verbs& verbs, const Setup& setup) : verbs_(verbs), setup_(setup) {}
    Result<void> make(const PacketPools& pools, std::vector<std::unique_ptr<QueueCounters>>& counters);
    Result<void> find_limits(const PacketPools& pools);

    const Verbs& verbs_;
    const Setup setup_;
    PortFacts facts_;
    QueueLimits limits_;
    bool does_checksums_ = false;
    bool running_ = false;
    PortFacts started_with_;
    std::uint16_t started_pkey_index_ = 0;
    // In the order of their creation.
    Owned<ibv_context> context_;
    Owned<ibv_pd> domain_;
    MemoryRegions regions_;
    std::vector<std::unique_ptr<QueuePair>> queue_pairs_;
    std::unique_ptr<KernelGroups> kernel_groups_;
};

}  // namespace verbline::pmd::hca

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The devices that a benchmark uses, open, each with its own packet buffers.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "apps/verbline/bench/device_clock.h"
#include "apps/verbline/bench/plan.h"
#include "apps/verbline/command_line/command.h"
#include "pmd/ethdev/roce_rules.h"
#include "pmd/netdev.h"

struct rte_mempool;

namespace verbline::bench {

/// What is recorded of a port, as the driver says it.
struct PortFacts {
    std::string device;    ///< as typed
    std::string driver;    ///< of DPDK; empty: a device of our own
    std::string firmware;  ///< of the adapter; empty: its driver does not say
    std::optional<std::uint64_t> bits_per_second;
    int numa_socket = pmd::any_numa_socket;
    PortTexts asked = {};  ///< of a port of DPDK
    std::optional<pmd::Offloads> in_effect =
        {};                                    ///< likewise; RSS types as the driver says them, of several queues alone
    std::optional<pmd::RoceRules> rules = {};  ///< none: they were not asked for
    bool isolated = false;
};

/// A line for whoever reads the figures, if rules were asked for and another spreads RoCE than the best kind; empty:
/// not.
std::string rule_note(const PortFacts& facts);

/// Of an open device, which was named by `text`, and set up by `choice`.
PortFacts facts_of(const std::string& text, const pmd::NetDevice& device, const PortChoice& choice);

struct FreePool {
    void operator()(rte_mempool* pool) const;
};

class BenchPort {
public:
    /// Opens device `index` of the plan and brings it up. A usage failure: it cannot have what the plan asks for.
    static std::expected<std::unique_ptr<BenchPort>, cli::Failure> open(const PacketPlan& plan, std::size_t index,
                                                                        const pmd::FlowHash& flows);

    pmd::NetDevice& device() { return *device_; }
    /// Of frames to be sent (traffic::make_frame_pool).
    rte_mempool& frames() { return *frames_; }
    const PortFacts& facts() const { return facts_; }
    /// By which the device dates frames; null: the time stamp counter is used.
    DeviceClock* clock() { return clock_.get(); }

private:
    cli::Outcome install_rules(const PacketPlan& plan);

    using Pool = std::unique_ptr<rte_mempool, FreePool>;

    Pool received_, frames_;
    std::unique_ptr<pmd::NetDevice> device_;  // before its pools
    std::unique_ptr<pmd::FlowTable> rules_;   // before the device
    std::unique_ptr<DeviceClock> clock_;
    PortFacts facts_;
};

/// Memory of the packet buffers of all ports, in MB.
std::size_t buffer_memory_mb(const PacketPlan& plan);

}  // namespace verbline::bench

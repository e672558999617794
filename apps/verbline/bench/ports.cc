// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/ports.h"

#include <algorithm>
#include <array>
#include <utility>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "datapath/traffic/generator.h"
#include "pmd/base/clock.h"
#include "pmd/ethdev/ethdev_flows.h"
#include "pmd/factory/open_device.h"
#include "pmd/impair/impair.h"
#include "pmd/packet_pool.h"

namespace verbline::bench {
namespace {

constexpr unsigned frames_per_queue = 8192;  ///< receive ring, transmit ring, what an impaired link holds, caches
constexpr unsigned frames_per_port = 4096;
constexpr unsigned pool_cache = 256;

unsigned pool_size(const PacketPlan& plan) {
    return frames_per_port + frames_per_queue * plan.queues;
}

/// Of a buffer: the longest frame in one piece, so that no driver needs to scatter it.
std::uint32_t buffer_room(const PacketPlan& plan) {
    constexpr std::uint32_t headers = 14 + 4 + traffic::fcs;
    return std::max<std::uint32_t>(RTE_MBUF_DEFAULT_DATAROOM, plan.mtu + headers);
}

/// Whether the open device has what the plan asks for.
cli::Outcome check(const PacketPlan& plan, const pmd::NetDevice& device) {
    const auto& found = device.capabilities();
    if (found.carries != pmd::Carries::ethernet)
        return cli::usage_failure(fmt::format("bench packet: {} carries no Ethernet frames", device.name()));
    const auto queues = std::min(found.rx_queues, found.tx_queues);
    if (queues < plan.queues)
        return cli::usage_failure(
            fmt::format("bench packet: --queues: {} has {} for this use; --software-rss spreads "
                        "packets over more",
                        device.name(), queues));
    if (plan.sends() && plan.sizes.largest() - traffic::fcs > found.max_packet)
        return cli::usage_failure(fmt::format("bench packet: --size: {} takes frames of {} bytes at most",
                                              device.name(), found.max_packet + traffic::fcs));
    return {};
}

/// With what a measurement needs besides.
pmd::OffloadChoice offloads_of(const PacketPlan& plan, std::size_t index) {
    auto choice = plan.ports.offloads;
    if (plan.timestamps == Timestamps::hardware && plan.receives_by(index))
        choice.named.push_back({"timestamp (--timestamps hardware)", {.rx = RTE_ETH_RX_OFFLOAD_TIMESTAMP}});
    return choice;
}

pmd::Offloads offloads_in_effect(std::uint16_t port, const rte_eth_dev_info& info, const pmd::Capabilities& found) {
    pmd::Offloads in_effect{.rx = found.rx_offloads, .tx = found.tx_offloads};
    rte_eth_rss_conf hash{};
    if (info.nb_rx_queues > 1 && rte_eth_dev_rss_hash_conf_get(port, &hash) == 0) in_effect.rss = hash.rss_hf;
    return in_effect;
}

}  // namespace

PortFacts facts_of(const std::string& text, const pmd::NetDevice& device, const PortChoice& choice) {
    PortFacts facts{.device = text, .numa_socket = device.numa_socket()};
    std::uint16_t id = 0;
    rte_eth_dev_info info{};
    const std::string name(device.name());
    if (rte_eth_dev_get_port_by_name(name.c_str(), &id) != 0 || rte_eth_dev_info_get(id, &info) != 0) return facts;
    facts.driver = info.driver_name;
    facts.asked = choice.texts;
    facts.in_effect = offloads_in_effect(id, info, device.capabilities());
    std::array<char, 128> firmware{};
    if (rte_eth_dev_fw_version_get(id, firmware.data(), firmware.size()) == 0) facts.firmware = firmware.data();
    rte_eth_link link{};
    if (rte_eth_link_get_nowait(id, &link) == 0 && link.link_speed != RTE_ETH_SPEED_NUM_NONE &&
        link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN) {
        facts.bits_per_second = std::uint64_t{link.link_speed} * 1'000'000;
    }
    return facts;
}

std::string rule_note(const PortFacts& facts) {
    if (!facts.rules || facts.rules->refused.empty()) return "";
    return fmt::format("{}: rules for RoCE: {}; refused {}", facts.device, pmd::name_of(facts.rules->match),
                       fmt::join(facts.rules->refused, ", "));
}

void FreePool::operator()(rte_mempool* pool) const {
    rte_mempool_free(pool);
}

std::expected<std::unique_ptr<BenchPort>, cli::Failure> BenchPort::open(const PacketPlan& plan, std::size_t index,
                                                                        const pmd::FlowHash& flows) {
    auto port = std::make_unique<BenchPort>();
    const auto room = buffer_room(plan);
    port->received_.reset(pmd::make_packet_pool(fmt::format("received{}", index).c_str(), pool_size(plan), pool_cache,
                                                static_cast<std::uint16_t>(RTE_PKTMBUF_HEADROOM + room), SOCKET_ID_ANY,
                                                pmd::BufferLayout::packed));
    if (plan.sends())
        port->frames_.reset(
            traffic::make_frame_pool(fmt::format("frames{}", index).c_str(), pool_size(plan), room, SOCKET_ID_ANY));
    if (port->received_ == nullptr || (plan.sends() && port->frames_ == nullptr))
        return cli::run_failure("bench packet: no memory for packets; give DPDK more with `-m MB --`");

    auto device = pmd::open_device(plan.devices[index], {.pool = port->received_.get(),
                                                         .mtu = plan.mtu,
                                                         .queues = plan.queues,
                                                         .flows = plan.software_rss ? &flows : nullptr,
                                                         .offloads = offloads_of(plan, index),
                                                         .isolated = plan.isolated && plan.receives_by(index),
                                                         .persistent = false});
    if (!device) {
        const auto& [code, what] = device.error();
        return std::unexpected(cli::Failure{code == EINVAL ? cli::Failure::usage : cli::Failure::run_time,
                                            "verbline: bench packet: " + what});
    }
    port->device_ = std::move(*device);
    if ((port->device_->capabilities().rx_offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP) != 0) {
        auto clock = DeviceClock::create(std::string(port->device_->name()));
        if (!clock) return cli::usage_failure("bench packet: --timestamps: " + clock.error().what);
        port->clock_ = std::move(*clock);
    }
    if (auto good = check(plan, *port->device_); !good) return std::unexpected(good.error());
    if (plan.impair)
        port->device_ = std::make_unique<pmd::ImpairedDevice>(std::move(port->device_), *plan.impair, monotonic_now);
    if (auto up = port->device_->up(); !up) return cli::run_failure("bench packet: " + up.error().what);
    port->facts_ = facts_of(plan.device_texts[index], *port->device_, plan.ports);
    if (plan.roce_rules && plan.receives_by(index))
        if (auto good = port->install_rules(plan); !good) return std::unexpected(good.error());
    return port;
}

/// Without rules an isolated port would receive nothing.
cli::Outcome BenchPort::install_rules(const PacketPlan& plan) {
    auto table = pmd::EthdevFlows::of_port(std::string(device_->name()));
    if (!table) return cli::run_failure("bench packet: " + table.error().what);
    rules_ = std::move(*table);
    facts_.rules = pmd::install_roce_rules(*rules_, plan.queues);
    facts_.isolated = plan.isolated;
    if (!plan.isolated || facts_.rules->match != pmd::RoceMatch::none) return {};
    return cli::usage_failure(fmt::format("bench packet: --isolated: {} takes no rules: {}", device_->name(),
                                          fmt::join(facts_.rules->refused, ", ")));
}

std::size_t buffer_memory_mb(const PacketPlan& plan) {
    constexpr std::size_t overhead = sizeof(rte_mbuf) + RTE_PKTMBUF_HEADROOM + RTE_CACHE_LINE_SIZE;
    return plan.devices.size() * 2 * pool_size(plan) * (buffer_room(plan) + overhead) >> 20;
}

}  // namespace verbline::bench

// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/ipoib/ports.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <fmt/format.h>

#include "datapath/ipoib/interface.h"
#include "datapath/offload/segmentation.h"
#include "datapath/wire/ethernet.h"
#include "pmd/factory/open_device.h"
#include "pmd/packet_pool.h"

namespace verbline::ipoib_bench {
namespace {

constexpr unsigned buffers_of_device = 4096;  ///< receive ring, transmit ring
constexpr unsigned buffers_on_the_way = 4096;
constexpr unsigned buffer_cache = 256;

/// Behind Ethernet's header of the longest frame: every link carries the same IP packets.
std::uint16_t device_mtu(const IpoibPlan& plan) {
    constexpr auto overhead =
        std::max<std::uint32_t>(ipoib::frame_overhead - wire::Ethernet::size, ipoib::roce_overhead);
    return static_cast<std::uint16_t>(plan.mtu + overhead);
}

/// The longest frame in one piece, with a tag and a check sequence that a driver may want room for.
std::uint16_t buffer_bytes(const IpoibPlan& plan) {
    constexpr std::uint32_t link = wire::Ethernet::size + wire::Vlan::size + traffic::fcs;
    const auto room = device_mtu(plan) + link + offload::segment_tailroom;
    return static_cast<std::uint16_t>(RTE_PKTMBUF_HEADROOM + std::max<std::size_t>(RTE_MBUF_DEFAULT_DATAROOM, room));
}

unsigned buffer_count(const IpoibPlan& plan) {
    return buffers_on_the_way + static_cast<unsigned>(plan.devices.size()) * buffers_of_device;
}

}  // namespace

Result<std::unique_ptr<Ports>> Ports::open(const IpoibPlan& plan) {
    auto ports = std::make_unique<Ports>();
    ports->pool_.reset(pmd::make_packet_pool("bench-ipoib", buffer_count(plan), buffer_cache, buffer_bytes(plan),
                                             SOCKET_ID_ANY, pmd::BufferLayout::packed));
    if (ports->pool_ == nullptr) return failure(rte_errno, "no memory for packets; give DPDK more with `-m MB --`");
    for (std::size_t i = 0; i < plan.devices.size(); ++i)
        if (auto good = ports->open_device(plan, i); !good) return std::unexpected(good.error());
    return ports;
}

Result<void> Ports::open_device(const IpoibPlan& plan, std::size_t index) {
    auto device = pmd::open_device(
        plan.devices[index],
        {.pool = pool_.get(), .mtu = device_mtu(plan), .offloads = plan.ports.offloads, .persistent = false});
    if (!device) return std::unexpected(device.error());
    const auto& text = plan.device_texts[index];
    const auto& found = (*device)->capabilities();
    if (found.carries != pmd::Carries::ethernet)
        return failure(EINVAL, fmt::format("{} carries no Ethernet frames", text));
    if (found.max_packet < device_mtu(plan) + wire::Ethernet::size)
        return failure(EINVAL, fmt::format("--mtu: {} takes frames of {} bytes at most, and needs {}", text,
                                           found.max_packet, device_mtu(plan) + wire::Ethernet::size));
    devices_.push_back(std::move(*device));
    if (auto up = devices_.back()->up(); !up) return up;
    facts_.push_back(bench::facts_of(text, *devices_.back(), plan.ports));
    return {};
}

const std::string* Ports::without_link() {
    const std::string* without = nullptr;
    // All are asked each time: two of them may be the ends of one link, which they set up in this call.
    for (std::size_t i = 0; i < devices_.size(); ++i)
        if (!devices_[i]->link_up()) without = &facts_[i].device;
    return without;
}

std::size_t Ports::buffer_memory_mb(const IpoibPlan& plan) {
    return buffer_count(plan) * (sizeof(rte_mbuf) + RTE_CACHE_LINE_SIZE + buffer_bytes(plan)) >> 20;
}

}  // namespace verbline::ipoib_bench

// SPDX-License-Identifier: BSD-3-Clause
#include "apps/rdma_ping/port.h"

#include <algorithm>
#include <thread>

#include <rte_errno.h>
#include <rte_mbuf.h>

#include <fmt/format.h>

#include "pmd/base/clock.h"
#include "pmd/base/free_descriptors.h"
#include "pmd/capture/capture.h"
#include "pmd/factory/open_device.h"
#include "pmd/impair/impair.h"

namespace verbline::rdma_ping {
namespace {

constexpr std::uint32_t headers = 160;  // around the payload of any RoCE or InfiniBand packet, in one frame
constexpr unsigned packets = 8192;      // receive and transmit rings, packets kept until one that is missing comes

}  // namespace

void PingPort::FreePool::operator()(rte_mempool* pool) const {
    rte_mempool_free(pool);
}

Result<PingPort> PingPort::open(const Options& options, std::uint16_t queues) {
    PingPort port;
    const auto room = RTE_PKTMBUF_HEADROOM + std::max(options.mtu + headers, std::uint32_t{RTE_MBUF_DEFAULT_DATAROOM});
    port.pool_.reset(
        rte_pktmbuf_pool_create("packets", packets, 256, 0, static_cast<std::uint16_t>(room), SOCKET_ID_ANY));
    if (port.pool_ == nullptr) return failure(rte_errno, "no memory for packets; give DPDK more with `-m MB --`");

    const auto mtu = static_cast<std::uint16_t>(std::max(options.mtu + headers, 1500u));
    if (queues > 1) port.flows_ = std::make_unique<link::FrameFlowHash>(link::FrameFlowHash::random_key());
    auto device = pmd::open_device(
        options.device,
        {.pool = port.pool_.get(), .mtu = mtu, .queues = queues, .flows = port.flows_.get(), .persistent = false});
    if (!device) return std::unexpected(device.error());
    port.device_ = std::move(*device);
    if (options.impair) {
        port.device_ = std::make_unique<pmd::ImpairedDevice>(std::move(port.device_), *options.impair, monotonic_now);
    }
    if (!options.capture.empty()) {
        auto file = pmd::CaptureFile::create(options.capture);
        if (!file) return std::unexpected(file.error());
        port.capture_ = std::move(*file);
        port.device_ =
            std::make_unique<pmd::CapturedDevice>(std::move(port.device_), "rdma_ping", *port.capture_, utc_now);
    }
    if (auto up = port.device_->up(); !up) return std::unexpected(up.error());
    return port;
}

void PingPort::upkeep(Time now) {
    if (now < next_) return;
    next_ = now + millisecond;
    std::ignore = device_->link_up();
    if (capture_ != nullptr) std::ignore = capture_->drain();
}

Result<void> PingPort::await_link() {
    const auto limit = monotonic_now() + 20 * second;
    while (!device_->link_up()) {
        if (monotonic_now() > limit) {
            return failure(ENOLINK, fmt::format("device {}: no peer at the other end", device_->name()));
        }
        std::this_thread::yield();
    }
    return {};
}

}  // namespace verbline::rdma_ping

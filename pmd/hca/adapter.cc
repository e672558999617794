// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/adapter.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <rte_mbuf.h>

#include <fmt/format.h>

#include "datapath/wire/text.h"
#include "pmd/hca/checksums.h"

namespace verbline::pmd::hca {
namespace {

constexpr std::uint32_t longest_mtu = 4096;  ///< of InfiniBand (IBTA volume 1, 3.5.10)

}  // namespace

Result<std::unique_ptr<Adapter>> Adapter::open(const Verbs& verbs, const Setup& setup, const PacketPools& pools,
                                               std::vector<std::unique_ptr<QueueCounters>>& counters) {
    std::unique_ptr<Adapter> made(new Adapter(verbs, setup));
    if (auto done = made->make(pools, counters); !done) return std::unexpected(done.error());
    return made;
}

Result<void> Adapter::make(const PacketPools& pools, std::vector<std::unique_ptr<QueueCounters>>& counters) {
    auto context = open_context(verbs_, setup_.device);
    if (!context) return std::unexpected(context.error());
    context_ = std::move(*context);
    const int flags = fcntl(context_->async_fd, F_GETFL);
    if (flags < 0 || fcntl(context_->async_fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        return failure(errno, fmt::format("RDMA device {}: cannot read its events without waiting: {}", setup_.device,
                                          std::strerror(errno)));
    }
    if (auto done = refresh(); !done) return done;
    offers_ = offers_of(*context_);
    if (!setup_.beside.empty()) offers_.max_tso = 0;  // of such queue pairs no device segments
    if (auto done = find_limits(pools); !done) return done;
    if (!setup_.beside.empty()) {
        auto shared = SharedNumber::find(setup_.beside, *context_, setup_.port, facts_, setup_.sys);
        if (!shared) return std::unexpected(shared.error());
        shared_ = std::move(*shared);
    }
    does_checksums_ = shared_ ? offers_.checksums : ud_does_checksums(driver_of(*context_), facts_.ethernet);
    domain_ = {verbs_.alloc_pd(context_.get()), {verbs_.dealloc_pd}};
    if (!domain_) {
        return failure(verbs_.error(), fmt::format("RDMA device {}: cannot make a protection domain: {}", setup_.device,
                                                   std::strerror(verbs_.error())));
    }
    auto regions = MemoryRegions::create(verbs_, *domain_, pools, counters.size());
    if (!regions) return std::unexpected(regions.error());
    regions_ = std::move(*regions);
    if (!shared_) make_spread(pools, counters);
    auto made = make_queue_pairs(pools, counters);
    if (!made && offers_.max_tso > 0) {
        segmentation_error_ = made.error();
        offers_.max_tso = 0;
        made = make_queue_pairs(pools, counters);
    }
    if (!made) return made;
    if (shared_) shared_->set_receiver(verbs_, receiving_pair());
    kernel_groups_ = std::make_unique<KernelGroups>(facts_.interface);
    return {};
}

Result<void> Adapter::make_queue_pairs(const PacketPools& pools,
                                       std::vector<std::unique_ptr<QueueCounters>>& counters) {
    queue_pairs_.clear();
    for (std::uint16_t i = 0; i < setup_.queues; ++i) {
        auto made = QueuePair::create({.verbs = verbs_,
                                       .context = *context_,
                                       .domain = *domain_,
                                       .regions = regions_,
                                       .pool = *pools[i],
                                       .port = setup_.port,
                                       .limits = limits_,
                                       .receives = i == 0 && !spread_,
                                       .verifies = does_checksums_,
                                       .max_tso = offers_.max_tso,
                                       .does_tso = setup_.does_tso,
                                       .shared_number = shared_ ? std::optional(shared_->number()) : std::nullopt,
                                       .counters = *counters[i]});
        if (!made) return std::unexpected(shared_ ? shared_->explain(made.error()) : made.error());
        queue_pairs_.push_back(std::move(*made));
    }
    if (!spread_) receivers_ = {queue_pairs_.front()->receives()};
    return {};
}

/// One queue receives if the device cannot spread over several, or fails to.
void Adapter::make_spread(const PacketPools& pools, std::vector<std::unique_ptr<QueueCounters>>& counters) {
    const auto queues = std::min<std::uint32_t>(setup_.receive_queues, offers_.receive_queues);
    if (queues < 2) return;
    auto made = ReceiveSpread::create({.verbs = verbs_,
                                       .context = *context_,
                                       .domain = *domain_,
                                       .regions = regions_,
                                       .pools = pools,
                                       .limits = limits_,
                                       .queues = static_cast<std::uint16_t>(queues),
                                       .most_entries = offers_.most_entries,
                                       .hash_fields = offers_.hash_fields,
                                       .key = setup_.hash_key,
                                       .verifies = does_checksums_,
                                       .counters = counters});
    if (!made) {
        spread_error_ = made.error();
        return;
    }
    spread_ = std::move(*made);
    for (std::uint16_t i = 0; i < queues; ++i) receivers_.push_back(&spread_->queue(i));
}

/// Receives are made for the longest datagrams that any link has, as the port's MTU may change while it runs.
Result<void> Adapter::find_limits(const PacketPools& pools) {
    ibv_device_attr device{};
    if (const int error = verbs_.query_device(context_.get(), &device); error != 0) {
        return failure(
            error, fmt::format("RDMA device {} does not say what it can do: {}", setup_.device, std::strerror(error)));
    }
    if (setup_.port > device.phys_port_cnt) {
        return failure(ENODEV, fmt::format("RDMA device {} has no port {}, but {}", setup_.device, setup_.port,
                                           device.phys_port_cnt));
    }
    const auto room = rte_pktmbuf_data_room_size(pools[0]) - std::uint32_t{RTE_PKTMBUF_HEADROOM};
    const auto pieces = static_cast<std::uint32_t>(std::max(device.max_sge, 1));
    const auto most = static_cast<std::uint32_t>(std::max(std::min(device.max_qp_wr, device.max_cqe), 1));
    const auto segments = offers_.max_tso > 0 ? setup_.large_segments : setup_.send_segments;
    limits_ = {.receives = std::min(setup_.receives, most),
               .sends = std::min(setup_.sends, most),
               .receive_segments = static_cast<std::uint16_t>(std::min((longest_mtu + room - 1) / room, pieces)),
               .send_segments = static_cast<std::uint16_t>(std::min<std::uint32_t>(segments, pieces))};
    return {};
}

}  // namespace verbline::pmd::hca

// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/adapter.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <rte_mbuf.h>

#include <fmt/format.h>

#include "datapath/wire/text.h"
#include "pmd/hca/checksums.h"

namespace verbline::pmd::hca {
namespace {

constexpr std::uint32_t longest_mtu = 4096;  ///< of InfiniBand (IBTA volume 1, 3.5.10)

/// What a port's queue pairs depend on.
bool same_start(const PortFacts& a, const PortFacts& b) {
    return a.mtu == b.mtu && a.lid == b.lid && a.gid == b.gid && a.gid_index == b.gid_index;
}

std::error_code code(int error) {
    return {error, std::generic_category()};
}

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
    if (auto done = find_limits(pools); !done) return done;
    does_checksums_ = ud_does_checksums(driver_of(*context_), facts_.ethernet);
    domain_ = {verbs_.alloc_pd(context_.get()), {verbs_.dealloc_pd}};
    if (!domain_) {
        return failure(verbs_.error(), fmt::format("RDMA device {}: cannot make a protection domain: {}", setup_.device,
                                                   std::strerror(verbs_.error())));
    }
    auto regions = MemoryRegions::create(verbs_, *domain_, pools, counters.size());
    if (!regions) return std::unexpected(regions.error());
    regions_ = std::move(*regions);
    make_spread(pools, counters);
    for (std::uint16_t i = 0; i < setup_.queues; ++i) {
        auto queue_pair = QueuePair::create({.verbs = verbs_,
                                             .context = *context_,
                                             .domain = *domain_,
                                             .regions = regions_,
                                             .pool = *pools[i],
                                             .port = setup_.port,
                                             .limits = limits_,
                                             .receives = i == 0 && !spread_,
                                             .verifies = does_checksums_,
                                             .counters = *counters[i]});
        if (!queue_pair) return std::unexpected(queue_pair.error());
        queue_pairs_.push_back(std::move(*queue_pair));
        if (auto* const receives = queue_pairs_.back()->receives()) receivers_.push_back(receives);
    }
    kernel_groups_ = std::make_unique<KernelGroups>(facts_.interface);
    return {};
}

/// One queue receives if the device cannot spread over several, or fails to.
void Adapter::make_spread(const PacketPools& pools, std::vector<std::unique_ptr<QueueCounters>>& counters) {
    offers_ = offers_of(*context_);
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
    limits_ = {.receives = std::min(setup_.receives, most),
               .sends = std::min(setup_.sends, most),
               .receive_segments = static_cast<std::uint16_t>(std::min((longest_mtu + room - 1) / room, pieces)),
               .send_segments = static_cast<std::uint16_t>(std::min<std::uint32_t>(setup_.send_segments, pieces))};
    return {};
}

Result<void> Adapter::refresh() {
    auto facts = read_port(verbs_, *context_, setup_.port);
    if (!facts) return std::unexpected(facts.error());
    facts_ = *facts;
    return {};
}

bool Adapter::outdated(const Identity& identity) const {
    if (!same_start(facts_, started_with_)) return true;
    return find_pkey(verbs_, *context_, setup_.port, facts_, identity.pkey) != started_pkey_index_;
}

Result<void> Adapter::start(const Identity& identity) {
    const auto pkey = find_pkey(verbs_, *context_, setup_.port, facts_, identity.pkey);
    if (!pkey) {
        return failure(ENOENT, fmt::format("P_Key {} is not in the P_Key table of port {} of RDMA device {}, which "
                                           "has {}",
                                           wire::to_string(identity.pkey), setup_.port, setup_.device, pkeys()));
    }
    std::vector<std::uint32_t> numbers;
    for (const auto& each : queue_pairs_) numbers.push_back(static_cast<std::uint32_t>(each->number()));
    const QueuePair::Parameters parameters{
        .facts = facts_,
        .membership = {.port = setup_.port, .pkey_index = *pkey, .qkey = identity.qkey},
        .own_numbers = numbers};
    if (spread_) {
        if (auto started = spread_->start(parameters); !started) return started;
    }
    for (const auto& each : queue_pairs_) {
        if (auto started = each->start(parameters); !started) return started;
    }
    started_with_ = facts_;
    started_pkey_index_ = *pkey;
    running_ = true;
    return {};
}

void Adapter::stop() {
    if (spread_) spread_->stop();
    for (const auto& each : queue_pairs_) each->stop();
    running_ = false;
}

bool Adapter::failed() const {
    if (!running_) return false;
    return (spread_ && spread_->failed()) ||
           std::ranges::any_of(queue_pairs_, [](const auto& each) { return each->failed(); });
}

Events Adapter::events() {
    Events seen;
    ibv_async_event event{};
    while (verbs_.get_async_event(context_.get(), &event) == 0) {
        switch (event.event_type) {
            case IBV_EVENT_DEVICE_FATAL: seen.lost = true; break;
            case IBV_EVENT_CQ_ERR:  // it takes no completion any more, and only a new one would
                seen.lost = true;
                ++seen.queue_pairs;
                break;
            case IBV_EVENT_QP_FATAL:
            case IBV_EVENT_QP_REQ_ERR:
            case IBV_EVENT_QP_ACCESS_ERR:
            case IBV_EVENT_WQ_FATAL:
                seen.queue_pair = true;
                ++seen.queue_pairs;
                break;
            default: ++seen.port; break;
        }
        verbs_.ack_async_event(&event);
    }
    return seen;
}

std::error_code Adapter::attach(const MulticastAddress& group) {
    if (const auto error = kernel_groups_->join(group.mgid)) return error;
    ibv_gid gid;
    std::memcpy(gid.raw, group.mgid.bytes.data(), sizeof gid.raw);
    return code(verbs_.attach_mcast(&receiving_pair(), &gid, static_cast<std::uint16_t>(group.mlid)));
}

std::error_code Adapter::detach(const MulticastAddress& group) {
    ibv_gid gid;
    std::memcpy(gid.raw, group.mgid.bytes.data(), sizeof gid.raw);
    const auto error = code(verbs_.detach_mcast(&receiving_pair(), &gid, static_cast<std::uint16_t>(group.mlid)));
    const auto left = kernel_groups_->leave(group.mgid);
    return error ? error : left;
}

}  // namespace verbline::pmd::hca

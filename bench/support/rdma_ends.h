// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Two RDMA devices at the ends of one cable, in one thread, with queue pairs between them.

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/support/eal.h"
#include "bench/support/ring_cable.h"
#include "datapath/link/ip_gid.h"
#include "datapath/rdma/queue_pair.h"
#include "pmd/base/clock.h"

namespace verbline::bench {

/// What must not fail here.
template <class T>
T must(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().what);
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

struct RdmaSetup {
    transport::QueuePairType type = transport::QueuePairType::rc;
    std::size_t pairs = 1;
    std::uint32_t requests = 512;  ///< in each queue
    std::uint8_t max_reads = 16;   ///< responder resources
    std::uint32_t mtu = 4096;
    std::size_t memory = 1 << 20;  ///< bytes that each end registers
};

struct RdmaEnd {
    memory::PdId pd{};
    std::vector<std::byte> data;
    std::optional<rdma::MemoryRegion> region;
    std::unique_ptr<transport::CompletionQueue> sent, received;
    std::vector<std::unique_ptr<rdma::QueuePair>> pairs;

    transport::Segment segment(std::size_t offset, std::size_t length) const {
        return {reinterpret_cast<std::uint64_t>(data.data() + offset), static_cast<std::uint32_t>(length),
                region->lkey()};
    }
};

class RdmaEnds {
public:
    static constexpr wire::QKey qkey{0x1111'1111};

    explicit RdmaEnds(const RdmaSetup& setup) : cable_(pool(), static_cast<std::uint16_t>(setup.mtu + 128)) {
        for (std::size_t end = 0; end < 2; ++end) open(end, setup);
        connect(setup.pairs, setup);
    }

    RdmaEnd& a() { return ends_[0]; }
    RdmaEnd& b() { return ends_[1]; }
    rdma::Device& device(std::size_t end) { return *devices_[end]; }

    /// Adds queue pairs until there are so many, and connects them.
    void connect(std::size_t pairs, const RdmaSetup& setup) {
        while (ends_[0].pairs.size() < pairs) {
            for (std::size_t end = 0; end < 2; ++end) ends_[end].pairs.push_back(make_pair(end, setup));
            for (std::size_t end = 0; end < 2; ++end) to_rts(end, setup);
        }
    }

    /// One round of both ends.
    void poll() {
        const auto now = monotonic_now();
        devices_[0]->poll(0, now);
        devices_[1]->poll(0, now);
    }

    /// UD: the way from A to B's queue pair of that index.
    transport::UdDestination destination(std::size_t pair) {
        if (!to_b_) to_b_ = must(devices_[0]->envelope(path_to(1), a().pairs[pair]->qpn(), b().pairs[pair]->qpn()));
        return {.envelope = &*to_b_, .qpn = b().pairs[pair]->qpn(), .qkey = qkey};
    }

private:
    static constexpr auto every_right =
        memory::Access::local_write | memory::Access::remote_write | memory::Access::remote_read;
    static constexpr unsigned ipv4_gid = 3;  ///< RoCE v2, IPv4: after both kinds of the link-local one

    static rte_mempool* pool() {
        static rte_mempool* const made = make_pool("large", 8191, RTE_PKTMBUF_HEADROOM + 4096 + 256);
        return made;
    }
    static wire::MacAddress mac(std::size_t end) {
        return {{std::byte{2}, {}, {}, {}, {}, static_cast<std::byte>(end + 1)}};
    }

    void open(std::size_t end, const RdmaSetup& setup) {
        auto device = must(rdma::Device::create({.name = "end" + std::to_string(end),
                                                 .device = &cable_.end(end),
                                                 .pool = pool(),
                                                 .mac = mac(end),
                                                 .max_queue_pairs = 1 << 14,
                                                 .start = monotonic_now()}));
        device->change_gids([&](link::GidTable& gids) {
            gids.add_interface(1, mac(end));
            gids.add_address(1, link::gid_of(wire::ipv4(10, 0, 0, static_cast<std::uint8_t>(end + 1))));
        });
        auto& made = ends_[end];
        made.pd = device->allocate_pd();
        made.data.resize(setup.memory, static_cast<std::byte>(end + 1));
        made.region.emplace(must(device->register_memory(made.pd, made.data, every_right)));
        made.sent = device->create_cq(1 << 15);
        made.received = device->create_cq(1 << 15);
        devices_[end] = std::move(device);
    }

    std::unique_ptr<rdma::QueuePair> make_pair(std::size_t end, const RdmaSetup& setup) {
        return must(devices_[end]->create_queue_pair({.type = setup.type,
                                                      .pd = ends_[end].pd,
                                                      .send_completions = ends_[end].sent.get(),
                                                      .receive_completions = ends_[end].received.get(),
                                                      .send = {.requests = setup.requests, .segments = 1},
                                                      .receive = {.requests = setup.requests, .segments = 1}}));
    }

    void to_rts(std::size_t end, const RdmaSetup& setup) {
        auto& pair = *ends_[end].pairs.back();
        must(pair.init({.access = every_right, .qkey = qkey}));
        must(pair.ready_to_receive({.remote = ends_[1 - end].pairs.back()->qpn(),
                                    .path = path_to(1 - end),
                                    .mtu = setup.mtu,
                                    .first = wire::Psn(1),
                                    .max_reads = setup.max_reads,
                                    .selective_ack = true}));
        must(pair.ready_to_send({.first = wire::Psn(1), .max_reads = setup.max_reads}));
    }

    rdma::Path path_to(std::size_t end) {
        return {.gid_index = ipv4_gid,
                .address = {.global = true, .dgid = devices_[end]->gids().at(ipv4_gid)->gid, .hop_limit = 64},
                .mac = mac(end)};
    }

    RingCable cable_;
    std::array<std::unique_ptr<rdma::Device>, 2> devices_;
    std::array<RdmaEnd, 2> ends_;  // after the devices: queue pairs and regions go first
    std::optional<link::Envelope> to_b_;
};

}  // namespace verbline::bench

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One end of a connection in a test: memory, a completion queue and a queue pair, and two of them connected.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/rdma/device.h"
#include "datapath/rdma/queue_pair.h"
#include "tests/sim/world.h"

namespace verbline::test {

inline constexpr auto every_access = memory::Access::local_write | memory::Access::remote_write |
                                     memory::Access::remote_read | memory::Access::remote_atomic |
                                     memory::Access::mw_bind | memory::Access::flush_global;

struct EndSizes {
    std::size_t bytes = 1 << 16;  ///< of registered memory
    std::uint32_t entries = 256;  ///< of the completion queue
    std::uint32_t requests = 64;  ///< of each work queue
    std::uint32_t segments = 2;   ///< of each request
    std::uint32_t inline_bytes = 64;
};

struct End {
    explicit End(sim::Host& h, const EndSizes& s = {})
        : host(h), sizes(s), pd(h.device().allocate_pd()), data(s.bytes) {
        region.emplace(*h.device().register_memory(pd, data, every_access));
        cq = h.device().create_cq(s.entries);
    }

    /// What `make` makes, for tests that want it otherwise.
    rdma::QueuePairOptions options(transport::QueuePairType type) const {
        return {.type = type,
                .pd = pd,
                .send_completions = cq.get(),
                .receive_completions = cq.get(),
                .send = {.requests = sizes.requests, .segments = sizes.segments, .inline_bytes = sizes.inline_bytes},
                .receive = {.requests = sizes.requests, .segments = sizes.segments}};
    }
    void make(const rdma::QueuePairOptions& options) { pair = std::move(*host.device().create_queue_pair(options)); }
    void make(transport::QueuePairType type) { make(options(type)); }

    std::uint64_t address(std::size_t offset) const { return reinterpret_cast<std::uint64_t>(data.data() + offset); }
    transport::Segment segment(std::size_t offset, std::uint32_t length) const {
        return {address(offset), length, region->lkey()};
    }
    void receive(std::uint64_t id, std::size_t offset, std::uint32_t length) {
        const auto s = segment(offset, length);
        ASSERT_TRUE(pair->post(transport::ReceiveRequest{.id = id, .segments = {&s, 1}}));
    }
    std::vector<transport::Completion> poll() {
        std::vector<transport::Completion> out(sizes.entries);
        out.resize(cq->poll(out));
        return out;
    }

    sim::Host& host;
    EndSizes sizes;
    memory::PdId pd;
    std::vector<std::byte> data;
    std::optional<rdma::MemoryRegion> region;
    std::unique_ptr<transport::CompletionQueue> cq;
    std::unique_ptr<rdma::QueuePair> pair;
};

struct Connection {
    unsigned gid_index = 3;  ///< of both hosts: RoCE version and address family
    std::uint32_t mtu = 1024;
    std::uint8_t max_reads = 4;
    std::uint8_t rnr_timer = 12;
    bool selective_ack = true;
    bool produce_credits = false;
    rdma::ReadyToSend send{.first = wire::Psn(100), .max_reads = 4};
};

/// Takes queue pairs that exist from RESET to RTS, towards each other.
inline void connect(sim::World& world, End& a, End& b, const Connection& how = {}) {
    for (auto [from, to] : {std::pair(&a, &b), std::pair(&b, &a)}) {
        ASSERT_TRUE(from->pair->init({.access = every_access, .qkey = wire::QKey{0x1234}}));
        ASSERT_TRUE(from->pair->ready_to_receive({.remote = to->pair->qpn(),
                                                  .path = world.path(from->host, to->host, how.gid_index),
                                                  .mtu = how.mtu,
                                                  .first = how.send.first,
                                                  .max_reads = how.max_reads,
                                                  .rnr_timer = how.rnr_timer,
                                                  .selective_ack = how.selective_ack,
                                                  .produce_credits = how.produce_credits}));
        ASSERT_TRUE(from->pair->ready_to_send(how.send));
    }
}

/// Bytes that say where they stand.
inline void fill(std::span<std::byte> bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
}

}  // namespace verbline::test

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Two hosts on a cable, each with a device of several shards that a thread each polls: the cable's only queue is
/// spread by SoftwareRss.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/link/flow_hash.h"
#include "datapath/link/ip_gid.h"
#include "datapath/rdma/queue_pair.h"
#include "pmd/base/clock.h"
#include "pmd/rss/software_rss.h"
#include "tests/support/cable.h"
#include "tests/support/counter.h"
#include "tests/support/eal.h"

namespace verbline::rdma::sharded {

using transport::Completion, transport::QueuePairType;

inline constexpr unsigned shards = 2;
inline constexpr auto rights = memory::Access::local_write | memory::Access::remote_write | memory::Access::remote_read;
inline constexpr wire::QKey qkey{0x1234};

inline link::FrameFlowHash::Key hash_key() {
    link::FrameFlowHash::Key key;
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(i * 73 + 19);
    return key;
}

inline std::unique_ptr<pmd::NetDevice> spread(std::unique_ptr<pmd::NetDevice> end, const pmd::FlowHash& hash) {
    return pmd::SoftwareRss::create(std::move(end), {.queues = shards, .flows = &hash, .owners = {0}}).value();
}

class Host {
    const link::FrameFlowHash hash_{hash_key()};
    std::unique_ptr<pmd::NetDevice> net_;

public:
    static constexpr unsigned ipv4_gid = 3;  ///< RoCE v2: after both kinds of the link-local one

    Host(std::uint8_t number, std::unique_ptr<pmd::NetDevice> end)
        : net_(spread(std::move(end), hash_)), mac{{std::byte{2}, {}, {}, {}, {}, std::byte{number}}}, memory(1 << 18) {
        static unsigned made = 0;  // names of rings are the process's
        device = Device::create({.name = "shards" + std::to_string(made++),
                                 .device = net_.get(),
                                 .queues = {0, 1},
                                 .pool = test::packet_pool(),
                                 .mac = mac,
                                 .max_queue_pairs = 256,
                                 .start = monotonic_now()})
                     .value();
        device->change_gids([&](link::GidTable& gids) {
            gids.add_interface(1, mac);
            gids.add_address(1, link::gid_of(wire::ipv4(10, 0, 0, number)));
        });
        pd = device->allocate_pd();
        region.emplace(device->register_memory(pd, memory, rights).value());
        sent = device->create_cq(4096);
        received = device->create_cq(4096);
    }
    ~Host() { stop(); }
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    /// From now on a thread polls each shard.
    void start() {
        for (unsigned shard = 0; shard < shards; ++shard) {
            pollers_.emplace_back([this, shard](const std::stop_token& stop) {
                while (!stop.stop_requested()) {
                    if (paused[shard] || !device->poll(shard, monotonic_now())) std::this_thread::yield();
                }
            });
        }
    }
    void stop() { pollers_.clear(); }

    QueuePairOptions options(QueuePairType type) const {
        return {.type = type,
                .pd = pd,
                .send_completions = sent.get(),
                .receive_completions = received.get(),
                .send = {.requests = 64, .segments = 1},
                .receive = {.requests = 64, .segments = 1}};
    }
    std::unique_ptr<QueuePair> make(const QueuePairOptions& options) {
        return std::move(device->create_queue_pair(options).value());
    }
    Path path_to(const Host& peer) const {
        return {.gid_index = ipv4_gid,
                .address = {.global = true, .dgid = peer.device->gids().at(ipv4_gid)->gid, .hop_limit = 64},
                .mac = peer.mac};
    }
    transport::Segment segment(std::size_t offset, std::uint32_t length) const {
        return {reinterpret_cast<std::uint64_t>(memory.data() + offset), length, region->lkey()};
    }
    std::uint64_t counter(std::string_view name) const { return test::counter(*device, name); }
    std::uint64_t counter(unsigned shard, std::string_view name) const {
        std::uint64_t found = 0;
        device->counters(shard, [&](std::string_view each, std::uint64_t value, std::string_view) {
            if (each == name) found = value;
        });
        return found;
    }

    const wire::MacAddress mac;
    std::unique_ptr<Device> device;
    memory::PdId pd{};
    std::vector<std::byte> memory;
    std::optional<MemoryRegion> region;
    std::unique_ptr<transport::CompletionQueue> sent, received;
    std::array<std::atomic<bool>, shards> paused{};  ///< nobody polls the shard

private:
    std::deque<std::jthread> pollers_;
};

class TwoHosts : public testing::Test {
protected:
    explicit TwoHosts(std::array<std::unique_ptr<pmd::NetDevice>, 2> ends = test::cable())
        : a(1, std::move(ends[0])), b(2, std::move(ends[1])) {}

    void start() { a.start(), b.start(); }

    static void connect(QueuePair& pair, const Path& path, wire::Qpn remote) {
        ASSERT_TRUE(pair.init({.access = rights, .qkey = qkey}));
        ASSERT_TRUE(pair.ready_to_receive({.remote = remote,
                                           .path = path,
                                           .mtu = 1024,
                                           .first = wire::Psn(100),
                                           .max_reads = 4,
                                           .selective_ack = true}));
        ASSERT_TRUE(pair.ready_to_send({.first = wire::Psn(100), .max_reads = 4}));
    }
    void connect(QueuePair& at_a, QueuePair& at_b) {
        connect(at_a, a.path_to(b), at_b.qpn());
        connect(at_b, b.path_to(a), at_a.qpn());
    }

    /// Waits until `done` returns true, for a minute at most.
    template <class Done>
    static bool wait_until(Done done) {
        const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
        while (!done()) {
            if (std::chrono::steady_clock::now() > limit) return false;
            std::this_thread::yield();
        }
        return true;
    }
    static std::vector<Completion> completed(transport::CompletionQueue& queue) {
        std::vector<Completion> all(64);
        all.resize(queue.poll(all));
        return all;
    }

    Host a, b;
};

}  // namespace verbline::rdma::sharded

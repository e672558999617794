// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A router of several shards between two Ethernet devices of one queue each, which SoftwareRss presents with a queue
/// for each shard. The test is every shard's thread: it says whose turn it is.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rte_rcu_qsbr.h>

#include <gtest/gtest.h>

#include "datapath/link/flow_hash.h"
#include "pmd/rss/software_rss.h"
#include "tests/datapath/router/two_ports.h"
#include "tests/support/counter.h"

namespace verbline::router {

class ManyShards {
public:
    static constexpr unsigned hosts = 6;  ///< on the right
    static constexpr wire::Ipv4Address host(unsigned n) {
        return wire::ipv4(10, 2, 0, static_cast<std::uint8_t>(10 + n));
    }
    static constexpr wire::MacAddress host_mac(unsigned n) { return two_ports::mac(0x20 + n); }

    /// The owners are the shards that receive from the devices, and transmit on them, for all.
    ManyShards(std::uint16_t count, std::uint16_t left_owner, std::uint16_t right_owner)
        : left_device(share(left, count, left_owner)), right_device(share(right, count, right_owner)) {
        readers_ = static_cast<rte_rcu_qsbr*>(std::aligned_alloc(RTE_CACHE_LINE_SIZE, rte_rcu_qsbr_get_memsize(count)));
        rte_rcu_qsbr_init(readers_, count);
        fib_ = *forward::Fib::create({.max_routes = 64, .max_long = 64}, *readers_);
        using forward::NextHop;
        EXPECT_TRUE(fib_->replace({wire::ipv4(10, 1, 0, 0), 24}, {NextHop::Kind::on_link, two_ports::left}));
        EXPECT_TRUE(fib_->replace({wire::ipv4(10, 2, 0, 0), 24}, {NextHop::Kind::on_link, two_ports::right}));
        kernel_.capabilities().carries = pmd::Carries::ip;
        for (std::uint16_t i = 0; i < count; ++i) add_shard(i, count);
        tell(SetEthernet{two_ports::left, two_ports::left_mac}),
            tell(SetEthernet{two_ports::right, two_ports::right_mac});
    }
    ~ManyShards() {
        members_.clear();
        fib_.reset();
        std::free(readers_);
    }
    ManyShards(const ManyShards&) = delete;
    ManyShards& operator=(const ManyShards&) = delete;

    std::size_t size() const { return members_.size(); }

    // What the control thread does.

    void tell(const Command& command) {
        for (const auto& member : members_) member->backlog.push_back(command);
    }
    void set_neighbour(unsigned n) {
        tell(SetNeighbour{two_ports::right, link::gid_of(host(n)),
                          link::ethernet_destination(two_ports::right_mac, host_mac(n), wire::ether_type::ipv4)});
    }
    std::optional<Event> event(std::size_t shard) { return members_[shard]->events.pop(); }

    /// A turn of the shard's.
    Work poll(std::size_t shard) {
        auto& member = *members_[shard];
        while (!member.backlog.empty() && member.commands.push(member.backlog.front())) member.backlog.pop_front();
        return member.shard->poll(now);
    }

    /// Which shard routes this frame from the left.
    std::uint16_t shard_of(const test::ByteVector& frame) const {
        auto packet = test::make_packet(frame);
        auto* const raw = packet.get();
        std::uint32_t hash = 0;
        flows_.hash(pmd::Carries::ethernet, {&raw, 1}, {&hash, 1});
        const auto table = left_device->rss()->queues;
        return table[hash & (table.size() - 1)];
    }

    /// All that the shards and their devices say they have dropped.
    std::uint64_t dropped() const {
        std::uint64_t sum = 0;
        const auto add = [&sum](std::string_view name, std::uint64_t value) {
            if (name.find("dropped") != std::string_view::npos) sum += value;
        };
        for (const auto& member : members_) {
            member->shard->counters([&](std::string_view, std::string_view name, std::uint64_t value,
                                        std::string_view) { add(name, value); });
        }
        for (const auto* device : {left_device.get(), right_device.get()}) {
            device->counters([&](std::string_view name, std::uint64_t value, std::string_view) { add(name, value); });
        }
        return sum;
    }

private:
    static link::FrameFlowHash::Key key() {
        link::FrameFlowHash::Key key;
        for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(i * i * 37 + i * 11 + 5);
        return key;
    }

    link::FrameFlowHash flows_{key()};

    std::unique_ptr<pmd::SoftwareRss> share(test::FakeNetDevice*& inside, std::uint16_t count, std::uint16_t owner) {
        auto device = std::make_unique<test::FakeNetDevice>();
        inside = device.get();
        return pmd::SoftwareRss::create(std::move(device), {.queues = count, .flows = &flows_, .owners = {owner}})
            .value();
    }

    struct Member {
        explicit Member(const std::string& number)
            : commands(std::move(*Ring<Command>::create("commands" + number, 256))),
              events(std::move(*Ring<Event>::create("events" + number, 1024))) {}
        Ring<Command> commands;
        Ring<Event> events;
        std::deque<Command> backlog;
        std::optional<Shard> shard;
    };

    void add_shard(std::uint16_t number, std::uint16_t count) {
        auto& member = *members_.emplace_back(std::make_unique<Member>(std::to_string(number)));
        member.shard.emplace(ShardSetup{.queue = number,
                                        .shards = count,
                                        .ports = {{.name = "left", .device = left_device.get(), .kernel = &kernel_},
                                                  {.name = "right", .device = right_device.get(), .kernel = &kernel_}},
                                        .fib = fib_.get(),
                                        .readers = readers_,
                                        .pool = test::packet_pool(),
                                        .commands = &member.commands,
                                        .events = &member.events});
    }

public:
    Time now = 0;
    test::FakeNetDevice* left = nullptr;   ///< inside `left_device`
    test::FakeNetDevice* right = nullptr;  ///< inside `right_device`
    std::unique_ptr<pmd::SoftwareRss> left_device, right_device;

private:
    test::FakeNetDevice kernel_;
    rte_rcu_qsbr* readers_ = nullptr;
    std::unique_ptr<forward::Fib> fib_;
    std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace verbline::router

// SPDX-License-Identifier: BSD-3-Clause
// A switch of several shards: what crosses between them keeps its order, is counted, and wakes whoever sleeps.
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <rte_mempool.h>

#include <gtest/gtest.h>

#include "pmd/base/event_descriptor.h"
#include "pmd/bridge/switch.h"
#include "pmd/rss/handover_ring.h"
#include "tests/pmd/bridge/frames.h"
#include "tests/support/eal.h"
#include "tests/support/fake_netdev.h"

namespace verbline::pmd::over_switch_shards {
namespace {

using test::FakeNetDevice, test::frame, test::mac;

constexpr wire::MacAddress some_group = mac(9, 3);

/// All that ports have dropped.
std::uint64_t drops(const SwitchPortCounters& counters) {
    std::uint64_t sum = 0;
    counters.each([&](std::string_view name, std::uint64_t value, std::string_view) {
        if (name.find("_dropped_") != std::string_view::npos) sum += value;
    });
    return sum;
}

/// Two shards, of which lanes 0 and 2 belong to the first, 1 and 3 to the second; `mac(i)` lives on lane i.
struct SwitchShards : ::testing::Test {
    void SetUp() override {
        ASSERT_TRUE(fabric.connect());
        for (unsigned i = 0; i < 4; ++i) {
            auto device = std::make_unique<FakeNetDevice>("lane" + std::to_string(i));
            lanes.push_back(device.get());
            ids.push_back(fabric.add_lane(std::move(device), mac(i)));
        }
        fabric.upkeep(0, Switch::Links::all);
    }
    void poll_all() {
        while (fabric.poll(0) || fabric.poll(1)) {}
    }
    const SwitchPortCounters& counters(unsigned lane) const { return fabric.counters(ids[lane]); }
    using Counts = std::vector<std::size_t>;
    Counts sent() const {
        Counts counts;
        for (const auto* lane : lanes) counts.push_back(lane->sent.size());
        return counts;
    }

    std::array<TraceRing, 2> traces;
    Switch fabric{{.pool = test::packet_pool(), .waiting = 2000, .shards = 2, .traces = {&traces[0], &traces[1]}}};
    std::vector<FakeNetDevice*> lanes;
    std::vector<Switch::PortId> ids;
};

TEST_F(SwitchShards, ShareThePortsEvenly) {
    EXPECT_EQ(fabric.shard_of(ids[0]), 0u);
    EXPECT_EQ(fabric.shard_of(ids[1]), 1u);
    EXPECT_EQ(fabric.shard_of(ids[2]), 0u);
    fabric.remove(ids[2]);
    EXPECT_EQ(fabric.shard_of(fabric.add_lane(std::make_unique<FakeNetDevice>(), mac(7))), 0u) << "which has fewest";
}

TEST_F(SwitchShards, EachPollsItsOwnPorts) {
    lanes[1]->receive(frame(mac(3), mac(1)));
    EXPECT_FALSE(fabric.poll(0));
    EXPECT_TRUE(fabric.poll(1));
    EXPECT_EQ(sent(), (Counts{0, 0, 0, 1})) << "between ports of one shard, nothing crosses";
    EXPECT_EQ(fabric.counters(1).rx_handed_over.value(), 0u);
}

TEST_F(SwitchShards, HandOverInOrderAndCountByLane) {
    for (unsigned i = 0; i < 40; ++i) lanes[0]->receive(frame(mac(i % 4 == 3 ? 2 : 1), mac(0), i));
    poll_all();
    EXPECT_EQ(sent(), (Counts{0, 30, 10, 0}));
    for (unsigned i = 0, n = 0; i < 40; ++i) {
        if (i % 4 == 3) continue;
        EXPECT_EQ(test::bytes_of(lanes[1]->sent[n++]), frame(mac(1), mac(0), i));
    }
    EXPECT_EQ(counters(0).rx_packets.value(), 40u);
    EXPECT_EQ(counters(1).tx_packets.value(), 30u);
    EXPECT_EQ(counters(1).tx_bytes.value(), 3000u);
    EXPECT_EQ(fabric.counters(0).rx_handed_over.value(), 30u);
    EXPECT_EQ(fabric.counters(1).rx_taken_over.value(), 30u);
    EXPECT_EQ(fabric.counters(0).rx_burst_packets.value(), 40u);
    EXPECT_EQ(fabric.counters(1).rx_burst_packets.value(), 0u);
    EXPECT_GT(fabric.polls(1).polls_busy.value(), 0u);
}

TEST_F(SwitchShards, RecordWhatTheyDo) {
    const std::array before{traces[0].recorded(), traces[1].recorded()};
    lanes[0]->receive(frame(mac(1), mac(0)));
    poll_all();
    ASSERT_EQ(traces[0].recorded(), before[0] + 2);
    const auto& received = traces[0][before[0]];
    EXPECT_EQ(received.event, TraceEvent::received);
    EXPECT_EQ(received.port, static_cast<std::uint16_t>(ids[0]));
    EXPECT_EQ(received.value, 1u);
    const auto& handed_over = traces[0][before[0] + 1];
    EXPECT_EQ(handed_over.event, TraceEvent::handed_over);
    EXPECT_EQ(handed_over.port, static_cast<std::uint16_t>(ids[1]));
    ASSERT_EQ(traces[1].recorded(), before[1] + 1);
    EXPECT_EQ(traces[1][before[1]].event, TraceEvent::taken_over);
}

TEST_F(SwitchShards, BroadcastAndGroupsReachPortsOfAll) {
    lanes[1]->receive(frame(wire::broadcast_mac, mac(1)));
    poll_all();
    EXPECT_EQ(sent(), (Counts{1, 0, 1, 1}));
    EXPECT_EQ(counters(1).rx_replicated.value(), 2u);
    fabric.set_group(ids[0], some_group, true);
    fabric.set_group(ids[3], some_group, true);
    lanes[2]->receive(frame(some_group, mac(2)));
    poll_all();
    EXPECT_EQ(sent(), (Counts{2, 0, 1, 2}));
}

TEST_F(SwitchShards, GuardTheirPortsSources) {
    lanes[1]->receive(frame(mac(0), mac(2)));
    poll_all();
    EXPECT_EQ(sent(), (Counts{0, 0, 0, 0}));
    EXPECT_EQ(counters(1).rx_dropped_source.value(), 1u);
}

TEST_F(SwitchShards, ThatStandStillStopNoOther) {
    constexpr unsigned many = HandoverRing::capacity + 100;
    for (unsigned i = 0; i < many; ++i) lanes[0]->receive(frame(mac(1), mac(0)));
    for (unsigned i = 0; i < 10; ++i) lanes[2]->receive(frame(mac(0), mac(2)));
    while (fabric.poll(0)) {}
    EXPECT_EQ(sent(), (Counts{10, 0, 0, 0}));
    EXPECT_EQ(counters(0).rx_dropped_handover_full.value(), 100u);
    poll_all();
    EXPECT_EQ(lanes[1]->sent.size(), HandoverRing::capacity);
}

TEST_F(SwitchShards, AFullPortWaitsAtItsOwnShard) {
    lanes[1]->tx_room = 3;
    for (unsigned i = 0; i < 20; ++i) lanes[0]->receive(frame(mac(1), mac(0), i));
    for (unsigned i = 0; i < 5; ++i) lanes[0]->receive(frame(mac(3), mac(0), i));
    poll_all();
    EXPECT_EQ(sent(), (Counts{0, 3, 0, 5})) << "others of its shard are not delayed";
    lanes[1]->tx_room = 100;
    poll_all();
    fabric.poll(1);
    EXPECT_EQ(lanes[1]->sent.size(), 20u);
}

TEST_F(SwitchShards, ARemovedPortsFramesAreForwardedAndThoseForItCounted) {
    lanes[0]->receive(frame(mac(1), mac(0)));
    fabric.poll(0);  // to the second shard's ring
    lanes[1]->receive(frame(mac(2), mac(1)));
    lanes[3]->receive(frame(mac(1), mac(3)));
    const auto* const second = lanes[2];
    fabric.remove(ids[1]);
    poll_all();
    EXPECT_EQ(second->sent.size(), 1u) << "what it had sent before";
    EXPECT_EQ(counters(0).rx_packets.value(), 1u);
    EXPECT_EQ(counters(3).rx_dropped_no_receiver.value(), 1u);
}

TEST_F(SwitchShards, FramesForAPortThatIsGoneAreDropped) {
    lanes[0]->receive(frame(mac(1), mac(0)));
    fabric.poll(0);
    fabric.remove(ids[1]);
    poll_all();
    EXPECT_EQ(fabric.counters(1).rx_taken_over.value(), 1u);
    EXPECT_EQ(fabric.counters(1).tx_dropped_no_port.value(), 1u);
}

/// A lane whose frames come from the test's thread, which wakes the shard for them.
class Program : public FakeNetDevice {
public:
    explicit Program(unsigned number) : number_(number) {}

    int rx_event(std::uint16_t) const noexcept override { return event_.get(); }
    void want_rx_event(std::uint16_t, bool wanted) noexcept override {
        wanted_ = wanted;
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (!wanted) event_.drain();
    }
    std::uint16_t rx_burst(std::uint16_t, Burst burst) noexcept override {
        const std::scoped_lock lock(mutex_);
        std::uint16_t n = 0;
        for (; n < burst.size() && !to_send_.empty(); ++n) {
            burst[n] = to_send_.front().release();
            to_send_.pop_front();
        }
        return n;
    }
    std::uint16_t tx_burst(std::uint16_t, Burst burst) noexcept override {
        for (const auto* const packet : burst) {
            const auto bytes = test::bytes_of(packet);
            const auto from = static_cast<std::size_t>(bytes[11]);
            const auto mark = wire::load32(wire::Bytes(bytes), 20);
            in_order = in_order && mark == next_[from]++;
        }
        came += burst.size();
        rte_pktmbuf_free_bulk(burst.data(), static_cast<unsigned>(burst.size()));
        return static_cast<std::uint16_t>(burst.size());
    }
    void send(unsigned to, std::uint32_t mark) {
        auto bytes = frame(test::mac(to), test::mac(number_));
        wire::store32(wire::MutableBytes(bytes), 20, mark);
        {
            const std::scoped_lock lock(mutex_);
            to_send_.push_back(test::make_packet(bytes));
        }
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (wanted_) event_.signal();
    }

    std::atomic<std::size_t> came{0};
    std::atomic<bool> in_order{true};

private:
    unsigned number_;
    EventDescriptor event_ = EventDescriptor::make();
    std::atomic<bool> wanted_{false};
    std::mutex mutex_;
    std::deque<test::Packet> to_send_;
    std::array<std::uint32_t, 256> next_{};  ///< by sender
};

TEST(SwitchShardThreads, KeepTheOrderAndLoseNoFrameWhileLanesComeAndGo) {
    Switch fabric({.pool = test::packet_pool(), .shards = 2});
    ASSERT_TRUE(fabric.connect());
    constexpr unsigned programs = 4;
    std::vector<Program*> lanes;
    std::vector<Switch::PortId> ids;
    for (unsigned i = 0; i < programs; ++i) {
        auto device = std::make_unique<Program>(i);
        lanes.push_back(device.get());
        ids.push_back(fabric.add_lane(std::move(device), mac(i)));
    }
    fabric.upkeep(0, Switch::Links::all);
    std::atomic<bool> stop{false};
    std::deque<std::jthread> pollers;
    for (unsigned shard = 0; shard < 2; ++shard) {
        pollers.emplace_back([&, shard] { fabric.run(stop, shard); });
    }
    // Each to each, in rounds; now and then everyone sleeps.
    constexpr std::uint32_t rounds = 400;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    for (std::uint32_t round = 0; round < rounds; ++round) {
        if (round % 20 == 0) ids.push_back(fabric.add_lane(std::make_unique<Program>(100), mac(100)));
        if (round % 20 == 10) fabric.remove(ids.back());
        for (unsigned from = 0; from < programs; ++from) {
            for (unsigned to = 0; to < programs; ++to) {
                if (from != to) lanes[from]->send(to, round);
            }
        }
        for (auto* const lane : lanes) {
            while (lane->came < (round + 1) * (programs - 1) && std::chrono::steady_clock::now() < limit) {
                std::this_thread::yield();
            }
        }
        if (round % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    stop = true;
    fabric.wake();
    pollers.clear();
    for (unsigned i = 0; i < programs; ++i) {
        EXPECT_EQ(lanes[i]->came, rounds * (programs - 1));
        EXPECT_TRUE(lanes[i]->in_order);
        EXPECT_EQ(drops(fabric.counters(ids[i])), 0u);
        EXPECT_EQ(fabric.counters(ids[i]).tx_packets.value(), rounds * (programs - 1));
    }
    EXPECT_GT(fabric.counters(0).sleeps.value() + fabric.counters(1).sleeps.value(), 0u);
    EXPECT_GT(fabric.counters(0).handover_wakeups.value() + fabric.counters(1).handover_wakeups.value(), 0u);
}

}  // namespace
}  // namespace verbline::pmd::over_switch_shards

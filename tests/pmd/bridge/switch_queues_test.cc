// SPDX-License-Identifier: BSD-3-Clause
// An uplink of several queues under a switch of several shards: each shard has queues of its own there.
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "pmd/bridge/switch.h"
#include "tests/pmd/bridge/frames.h"
#include "tests/support/fake_netdev.h"

namespace verbline::pmd::over_switch_queues {
namespace {

using test::FakeNetDevice, test::frame, test::mac;

constexpr wire::MacAddress far = mac(100), some_group = mac(9, 3);

struct SwitchQueues : ::testing::Test {
    /// `shards` with a lane each, on which `mac(i)` lives, and an uplink; a device is a queue of it.
    void set_up(unsigned shards, unsigned queues) {
        fabric.emplace(Switch::Options{.pool = test::packet_pool(), .waiting = 2000, .shards = shards, .traces = {}});
        ASSERT_TRUE(fabric->connect());
        std::vector<std::unique_ptr<NetDevice>> devices;
        for (unsigned i = 0; i < queues; ++i) {
            auto device = std::make_unique<FakeNetDevice>("queue" + std::to_string(i));
            uplink.push_back(device.get());
            devices.push_back(std::move(device));
        }
        ids = fabric->add_uplink(std::move(devices)).value();
        for (unsigned i = 0; i < shards; ++i) {
            auto device = std::make_unique<FakeNetDevice>("lane" + std::to_string(i));
            lanes.push_back(device.get());
            shard_of_lane.push_back(fabric->shard_of(fabric->add_lane(std::move(device), mac(i))));
        }
        fabric->upkeep(0, Switch::Links::all);
    }
    void poll_all() {
        for (bool busy = true; busy;) {
            busy = false;
            for (unsigned i = 0; i < fabric->shards(); ++i) busy |= fabric->poll(i);
        }
    }
    using Counts = std::vector<std::size_t>;
    static Counts sent(const std::vector<FakeNetDevice*>& devices) {
        Counts counts;
        for (const auto* device : devices) counts.push_back(device->sent.size());
        return counts;
    }
    std::uint64_t handed_over() const {
        std::uint64_t sum = 0;
        for (unsigned i = 0; i < fabric->shards(); ++i) sum += fabric->counters(i).rx_handed_over.value();
        return sum;
    }

    const int eal = (test::packet_pool(), 0);
    std::optional<Switch> fabric;
    std::vector<FakeNetDevice*> uplink, lanes;
    std::vector<Switch::PortId> ids;
    std::vector<unsigned> shard_of_lane;
};

TEST_F(SwitchQueues, ShardsSendByTheirOwnWithoutHandingOver) {
    set_up(2, 2);
    ASSERT_NE(shard_of_lane[0], shard_of_lane[1]);
    for (unsigned lane = 0; lane < 2; ++lane) {
        for (unsigned i = 0; i < 10 + lane; ++i) lanes[lane]->receive(frame(far, mac(lane)));
    }
    poll_all();
    EXPECT_EQ(sent(uplink), shard_of_lane[0] == 0 ? (Counts{10, 11}) : (Counts{11, 10}));
    EXPECT_EQ(handed_over(), 0u);
}

TEST_F(SwitchQueues, EachQueueIsReadByItsShard) {
    set_up(2, 2);
    EXPECT_EQ(fabric->shard_of(ids[0]), 0u);
    EXPECT_EQ(fabric->shard_of(ids[1]), 1u);
    uplink[1]->receive(frame(mac(0), far));
    EXPECT_FALSE(fabric->poll(0));
    EXPECT_TRUE(fabric->poll(1));
    poll_all();
    EXPECT_EQ(sent(lanes), (Counts{1, 0}));
    EXPECT_EQ(fabric->counters(ids[1]).rx_packets.value(), 1u);
}

TEST_F(SwitchQueues, NothingGoesBackToTheUplinkByAnotherQueue) {
    set_up(2, 2);
    uplink[1]->receive(frame(wire::broadcast_mac, far));
    uplink[1]->receive(frame(some_group, far));
    uplink[1]->receive(frame(mac(77), far));
    poll_all();
    EXPECT_EQ(sent(uplink), (Counts{0, 0}));
    EXPECT_EQ(sent(lanes), (Counts{2, 2}));
    EXPECT_EQ(fabric->counters(ids[1]).rx_dropped_no_receiver.value(), 1u);
}

TEST_F(SwitchQueues, WhatIsForAllGoesThereOnce) {
    set_up(2, 2);
    lanes[0]->receive(frame(wire::broadcast_mac, mac(0)));
    lanes[1]->receive(frame(some_group, mac(1)));
    poll_all();
    EXPECT_EQ(uplink[0]->sent.size() + uplink[1]->sent.size(), 2u);
}

TEST_F(SwitchQueues, FewerThanShardsAreShared) {
    set_up(3, 2);
    for (unsigned lane = 0; lane < 3; ++lane) {
        for (unsigned i = 0; i < 5; ++i) lanes[lane]->receive(frame(far, mac(lane), i));
    }
    poll_all();
    EXPECT_EQ(uplink[0]->sent.size() + uplink[1]->sent.size(), 15u);
    EXPECT_EQ(handed_over(), 5u) << "by the shard that has none";
}

TEST_F(SwitchQueues, MoreThanShardsAreAllRead) {
    set_up(2, 5);
    for (auto* queue : uplink) queue->receive(frame(mac(1), far));
    poll_all();
    EXPECT_EQ(lanes[1]->sent.size(), 5u);
}

TEST_F(SwitchQueues, AreOneUplink) {
    set_up(2, 16);
    for (std::size_t i = 1; i < Switch::max_uplinks; ++i) {
        EXPECT_TRUE(fabric->add_uplink(std::make_unique<FakeNetDevice>())) << i;
    }
    EXPECT_FALSE(fabric->add_uplink(std::make_unique<FakeNetDevice>()));
}

TEST_F(SwitchQueues, OneShardReadsAll) {
    set_up(1, 3);
    for (auto* queue : uplink) queue->receive(frame(mac(0), far));
    lanes[0]->receive(frame(far, mac(0)));
    poll_all();
    EXPECT_EQ(sent(lanes), (Counts{3}));
    EXPECT_EQ(sent(uplink), (Counts{1, 0, 0}));
}

TEST_F(SwitchQueues, AFullOneDelaysItsOwnAlone) {
    set_up(2, 2);
    uplink[0]->tx_room = 1;
    for (unsigned lane = 0; lane < 2; ++lane) {
        for (unsigned i = 0; i < 4; ++i) lanes[lane]->receive(frame(far, mac(lane)));
    }
    poll_all();
    EXPECT_EQ(sent(uplink), (Counts{1, 4}));
    uplink[0]->tx_room = 100;
    poll_all();
    EXPECT_EQ(sent(uplink), (Counts{4, 4}));
}

}  // namespace
}  // namespace verbline::pmd::over_switch_queues

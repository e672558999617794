// SPDX-License-Identifier: BSD-3-Clause
// What a bridge does when members are full, busy or down, and which frames it drops.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "tests/pmd/bridge/bridge_fixture.h"

namespace verbline::pmd {
namespace {

using test::make_packet;
using test_bridge::BridgeTest, test_bridge::group, test_bridge::host, test_bridge::us;

TEST_F(BridgeTest, FullMemberBackpressuresTheSenderOnly) {
    introduce();
    members[1]->tx_room = 2;
    std::array<rte_mbuf*, 5> burst;
    for (auto& packet : burst) packet = make_packet(frame(host(1), us)).release();
    EXPECT_EQ(bridge->tx_burst(0, burst), 2);
    rte_pktmbuf_free_bulk(burst.data() + 2, 3);
    members[0]->receive(frame(host(1), host(0)));
    receive();
    EXPECT_TRUE(send(frame(group, us))) << "those that have room get it";
    EXPECT_EQ(sent(), (Counts{1, 2, 1}));
    members[1]->tx_room = 1;
    EXPECT_FALSE(send(frame(host(1), us))) << "those that wait go first";
    members[1]->tx_room = 2;
    EXPECT_TRUE(send(frame(host(1), us)));
    EXPECT_EQ(sent(), (Counts{1, 5, 1}));
    EXPECT_EQ(counter("forward_dropped_full"), 0u);
}

TEST_F(BridgeTest, KeepsABoundedNumberOfFramesForAFullMember) {
    introduce();
    members[1]->tx_room = 0;
    for (std::size_t i = 0; i < Bridge::max_waiting + 7; ++i) {
        members[0]->receive(frame(host(1), host(0)));
        receive();
    }
    EXPECT_EQ(counter("forward_dropped_full"), 7u);
    members[1]->tx_room = 1000;
    receive();
    EXPECT_EQ(members[1]->sent.size(), Bridge::max_waiting);
}

TEST_F(BridgeTest, PollsMembersFairly) {
    for (unsigned i = 0; i < 3; ++i) {
        for (unsigned k = 0; k < 500; ++k) members[i]->receive(frame(us, host(i)));
    }
    std::array<unsigned, 3> got{};
    for (unsigned round = 0; round < 20; ++round) {
        std::array<rte_mbuf*, 32> burst;
        for (auto* packet : std::span(burst).first(bridge->rx_burst(0, burst))) {
            ++got[static_cast<unsigned>(*rte_pktmbuf_mtod_offset(packet, std::uint8_t*, 11))];
            rte_pktmbuf_free(packet);
        }
    }
    EXPECT_EQ(got[0] + got[1] + got[2], 640u) << "and bursts are full";
    for (const auto count : got) EXPECT_NEAR(count, 213, 15);
}

TEST_F(BridgeTest, ForwardsAtMostOneBurstPerPoll) {
    introduce();
    for (unsigned i = 0; i < 500; ++i) {
        for (const unsigned from : {1u, 2u}) members[from]->receive(frame(host(0), host(from), i));
    }
    std::array<rte_mbuf*, max_burst> burst;
    EXPECT_EQ(bridge->rx_burst(0, burst), 0);
    EXPECT_LE(members[0]->sent.size(), max_burst);
    EXPECT_GT(members[0]->sent.size(), max_burst / 2);
    receive();
    EXPECT_EQ(members[0]->sent.size(), 1000u);
}

TEST_F(BridgeTest, CountsInvalidFramesByReason) {
    introduce();
    members[0]->receive(test::pattern(13));
    members[0]->receive(frame(us, group));
    members[0]->receive(frame(us, us));
    members[0]->receive(frame(us, {}));
    members[0]->receive(frame(host(0), host(9)));
    EXPECT_TRUE(receive().empty());
    EXPECT_EQ(counter("rx_dropped_runt"), 1u);
    EXPECT_EQ(counter("rx_dropped_source"), 3u);
    EXPECT_EQ(counter("rx_dropped_same_member"), 1u);
    EXPECT_EQ(sent(), (Counts{0, 0, 0}));
}

TEST_F(BridgeTest, FloodsFramesForADownMemberToTheOthers) {
    introduce();
    EXPECT_TRUE(bridge->link_up());
    members[1]->link = false;
    EXPECT_TRUE(bridge->link_up());
    ASSERT_TRUE(send(frame(host(1), us)));
    EXPECT_EQ(sent(), (Counts{1, 0, 1})) << "it may be behind another by now";
    members[2]->link = false;
    EXPECT_TRUE(bridge->link_up());
    ASSERT_TRUE(send(frame(group, us)));
    EXPECT_EQ(sent(), (Counts{2, 0, 1})) << "the last one, too";
}

TEST_F(BridgeTest, CountsFramesSentWithoutALink) {
    for (auto* member : members) member->link = false;
    EXPECT_FALSE(bridge->link_up());
    ASSERT_TRUE(send(frame(group, us)));
    EXPECT_EQ(sent(), (Counts{0, 0, 0}));
    EXPECT_EQ(counter("flood_dropped_no_link"), 1u);
}

TEST_F(BridgeTest, CountsCopiesLostForLackOfMbufs) {
    members[0]->receive(frame(group, host(0)));
    std::vector<test::Packet> all;
    while (auto* packet = rte_pktmbuf_alloc(test::packet_pool())) all.emplace_back(packet);
    EXPECT_EQ(receive().size(), 1u);
    EXPECT_EQ(counter("flood_dropped_no_mbuf"), 2u);
    EXPECT_EQ(sent(), (Counts{0, 0, 0}));
}

}  // namespace
}  // namespace verbline::pmd

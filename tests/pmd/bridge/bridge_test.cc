// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/bridge/bridge.h"

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/pmd/bridge/bridge_fixture.h"

namespace verbline::pmd {
namespace {

using test::FakeNetDevice;
using test::make_packet;
using test_bridge::BridgeTest, test_bridge::group, test_bridge::host, test_bridge::us;

TEST_F(BridgeTest, RxConsumedIsTrueWhenFramesAreOnlyForwarded) {
    introduce();
    EXPECT_FALSE(bridge->rx_consumed(0));
    members[0]->receive(frame(host(1), host(0)));
    std::array<rte_mbuf*, 32> burst;
    EXPECT_EQ(bridge->rx_burst(0, burst), 0);
    EXPECT_TRUE(bridge->rx_consumed(0));
    EXPECT_EQ(bridge->rx_burst(0, burst), 0);
    EXPECT_FALSE(bridge->rx_consumed(0));
}

TEST_F(BridgeTest, IsOnASocketIfAllMembersAre) {
    EXPECT_EQ(bridge->numa_socket(), any_numa_socket);
    for (auto* member : members) member->socket = 1;
    EXPECT_EQ(bridge->numa_socket(), 1);
    members[2]->socket = 0;
    EXPECT_EQ(bridge->numa_socket(), any_numa_socket);
}

TEST_F(BridgeTest, DeliversOwnUnicastLocallyOnly) {
    const auto bytes = frame(us, host(1));
    members[1]->receive(bytes);
    const auto got = receive();
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(test::bytes_of(got[0]), bytes);
    EXPECT_EQ(sent(), (Counts{0, 0, 0}));
}

TEST_F(BridgeTest, MembersReachEachOtherOnceLearned) {
    members[0]->receive(frame(host(1), host(0)));
    EXPECT_TRUE(receive().empty());
    EXPECT_EQ(sent(), (Counts{0, 1, 1})) << "unknown: flooded, but not to us";
    members[1]->receive(frame(host(0), host(1)));
    receive();
    EXPECT_EQ(sent(), (Counts{1, 1, 1}));
    members[0]->receive(frame(host(1), host(0)));
    receive();
    EXPECT_EQ(sent(), (Counts{1, 2, 1}));
    EXPECT_EQ(counter("forwarded"), 2u);
}

TEST_F(BridgeTest, CopiesGroupFramesToOtherMembersAndReceivesThem) {
    for (const auto& to : {group, wire::broadcast_mac}) {
        members[2]->receive(frame(to, host(2), 5));
        const auto got = receive();
        ASSERT_EQ(got.size(), 1u);
        EXPECT_EQ(test::bytes_of(got[0]), frame(to, host(2), 5));
        *rte_pktmbuf_mtod(got[0].get(), char*) = 'x';
        for (auto* member : {members[0], members[1]}) {
            ASSERT_EQ(member->sent.size(), 1u);
            EXPECT_EQ(test::bytes_of(member->sent[0]), frame(to, host(2), 5)) << "what we write must not show";
            member->sent.clear();
        }
        EXPECT_TRUE(members[2]->sent.empty());
    }
}

TEST_F(BridgeTest, SendsToTheLearnedMemberOrFloods) {
    introduce();
    ASSERT_TRUE(send(frame(host(2), us)));
    EXPECT_EQ(sent(), (Counts{0, 0, 1}));
    ASSERT_TRUE(send(frame(host(77), us)));
    ASSERT_TRUE(send(frame(group, us, 3)));
    EXPECT_EQ(sent(), (Counts{2, 2, 3}));
    for (const auto* member : members) EXPECT_EQ(test::bytes_of(member->sent.back()), frame(group, us, 3));
}

TEST_F(BridgeTest, AMixedBurstKeepsItsOrder) {
    introduce();
    std::array<rte_mbuf*, 6> burst;
    const std::array targets{host(0), host(0), host(1), group, host(0), host(2)};
    for (unsigned i = 0; i < 6; ++i) burst[i] = make_packet(frame(targets[i], us, i)).release();
    ASSERT_EQ(bridge->tx_burst(0, burst), 6);
    EXPECT_EQ(sent(), (Counts{4, 2, 2}));
    const std::array<unsigned, 4> order{0, 1, 3, 4};
    for (unsigned i = 0; i < 4; ++i) {
        EXPECT_EQ(test::bytes_of(members[0]->sent[i]), frame(targets[order[i]], us, order[i]));
    }
}

TEST_F(BridgeTest, ReceivesAllFramesBeforeItHasAMac) {
    members.clear();
    build(2);
    members[0]->receive(frame(host(1), host(0)));
    EXPECT_EQ(receive().size(), 1u);
    EXPECT_EQ(sent(), (Counts{0, 1}));
    members[1]->receive(frame(host(0), host(1)));
    EXPECT_EQ(receive().size(), 1u);
    EXPECT_EQ(sent(), (Counts{1, 1}));
}

TEST_F(BridgeTest, PassesASingleMemberThrough) {
    members.clear();
    build(1);
    EXPECT_FALSE(bridge->set_identity({.mac = us}));
    EXPECT_EQ(members[0]->identity.mac, us);
    members[0]->receive(test::pattern(13));
    EXPECT_EQ(receive().size(), 1u) << "untouched, whatever it is";
    ASSERT_TRUE(send(frame(host(5), us)));
    EXPECT_EQ(sent(), Counts{1});
}

TEST_F(BridgeTest, OffersCapabilitiesCommonToAllMembers) {
    auto wide = std::make_unique<FakeNetDevice>(), narrow = std::make_unique<FakeNetDevice>();
    wide->capabilities() = {.rx_queues = 4, .tx_queues = 4, .max_packet = 9000, .tx_offloads = 7, .max_tso = 65535};
    narrow->capabilities() = {.rx_queues = 2, .tx_queues = 3, .max_packet = 1514, .tx_offloads = 5};
    std::vector<std::unique_ptr<NetDevice>> devices;
    devices.push_back(std::move(wide));
    devices.push_back(std::move(narrow));
    const auto made = Bridge::create("x", std::move(devices), test::packet_pool(), [] { return 0; });
    const auto& all = (*made)->capabilities();
    EXPECT_EQ(all.rx_queues, 2);
    EXPECT_EQ(all.max_packet, 1514u);
    EXPECT_EQ(all.tx_offloads, 5u);
    EXPECT_EQ(all.max_tso, 0u);
}

TEST_F(BridgeTest, RejectsNoMembersAndNonEthernetMembers) {
    std::vector<std::unique_ptr<NetDevice>> devices;
    EXPECT_EQ(Bridge::create("x", std::move(devices), test::packet_pool(), {}).error().what,
              "switch x: has 0 devices; 1 to 16 are possible");
    auto tun = std::make_unique<FakeNetDevice>("tun0");
    tun->capabilities().carries = Carries::ip;
    devices.clear();
    devices.push_back(std::move(tun));
    EXPECT_EQ(Bridge::create("x", std::move(devices), test::packet_pool(), {}).error().what,
              "switch x: device tun0 carries no Ethernet frames");
}

}  // namespace
}  // namespace verbline::pmd

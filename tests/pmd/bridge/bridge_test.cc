// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/bridge/bridge.h"

#include <array>
#include <cstring>
#include <string>

#include <poll.h>

#include <gtest/gtest.h>

#include "pmd/base/event_descriptor.h"
#include "tests/support/counter.h"
#include "tests/support/fake_netdev.h"

namespace verbline::pmd {
namespace {

using test::FakeNetDevice;
using test::make_packet;

constexpr wire::MacAddress host(unsigned number) {
    return {{std::byte{2}, {}, {}, {}, {}, static_cast<std::byte>(number)}};
}
constexpr wire::MacAddress us = host(0xff), group{{std::byte{3}, {}, {}, {}, std::byte{0xc0}, {}}};

struct BridgeTest : ::testing::Test {
    void build(std::size_t count) {
        std::vector<std::unique_ptr<NetDevice>> devices;
        for (std::size_t i = 0; i < count; ++i) {
            auto fake = std::make_unique<FakeNetDevice>("fake" + std::to_string(i));
            members.push_back(fake.get());
            devices.push_back(std::move(fake));
        }
        bridge = Bridge::create("fabric", std::move(devices), test::packet_pool(), [this] { return now; }).value();
    }
    void SetUp() override {
        build(3);
        ASSERT_FALSE(bridge->set_identity({.mac = us}));
    }
    static test::ByteVector frame(const wire::MacAddress& to, const wire::MacAddress& from, unsigned mark = 0) {
        auto bytes = test::pattern(100, mark);
        std::memcpy(bytes.data(), to.bytes.data(), 6);
        std::memcpy(bytes.data() + 6, from.bytes.data(), 6);
        return bytes;
    }
    /// What reaches us of all that the members have received.
    std::vector<test::Packet> receive() {
        std::vector<test::Packet> got;
        for (unsigned round = 0; round < 100; ++round) {
            std::array<rte_mbuf*, 32> burst;
            for (auto* packet : std::span(burst).first(bridge->rx_burst(0, burst))) got.emplace_back(packet);
        }
        return got;
    }
    bool send(const test::ByteVector& bytes) {
        auto* packet = make_packet(bytes).release();
        if (bridge->tx_burst(0, std::span(&packet, 1)) == 1) return true;
        rte_pktmbuf_free(packet);
        return false;
    }
    std::vector<std::size_t> sent() const {
        std::vector<std::size_t> counts;
        for (const auto* member : members) counts.push_back(member->sent.size());
        return counts;
    }
    /// `host(i)` speaks behind member i.
    void introduce() {
        for (unsigned i = 0; i < members.size(); ++i) members[i]->receive(frame(us, host(i)));
        receive();
    }
    std::uint64_t counter(std::string_view wanted) const { return test::counter(*bridge, wanted); }
    using Counts = std::vector<std::size_t>;

    Time now = 0;
    std::vector<FakeNetDevice*> members;
    std::unique_ptr<Bridge> bridge;
};

TEST_F(BridgeTest, SaysThatItPassesFramesOnThoughItReturnsNone) {
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

TEST_F(BridgeTest, WhatIsForUsIsOursAlone) {
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

TEST_F(BridgeTest, GroupsReachEveryoneElseAndUsInCopies) {
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

TEST_F(BridgeTest, WhatWeSendGoesToOneOrAll) {
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

TEST_F(BridgeTest, AFullMemberHoldsUsBackButNotItsPeers) {
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

TEST_F(BridgeTest, NobodyStarves) {
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

TEST_F(BridgeTest, ALoadBetweenMembersIsBoundedToo) {
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

TEST_F(BridgeTest, OddFramesAreDroppedByName) {
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

TEST_F(BridgeTest, ADeadMemberIsForgottenAndSpared) {
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

TEST_F(BridgeTest, WithoutALinkWhatWeSendIsDroppedByName) {
    for (auto* member : members) member->link = false;
    EXPECT_FALSE(bridge->link_up());
    ASSERT_TRUE(send(frame(group, us)));
    EXPECT_EQ(sent(), (Counts{0, 0, 0}));
    EXPECT_EQ(counter("flood_dropped_no_link"), 1u);
}

TEST_F(BridgeTest, WithoutMbufsCopiesAreCountedNotMade) {
    members[0]->receive(frame(group, host(0)));
    std::vector<test::Packet> all;
    while (auto* packet = rte_pktmbuf_alloc(test::packet_pool())) all.emplace_back(packet);
    EXPECT_EQ(receive().size(), 1u);
    EXPECT_EQ(counter("flood_dropped_no_mbuf"), 2u);
    EXPECT_EQ(sent(), (Counts{0, 0, 0}));
}

TEST_F(BridgeTest, BeforeItHasAnIdentityAllFramesAreOursToo) {
    members.clear();
    build(2);
    members[0]->receive(frame(host(1), host(0)));
    EXPECT_EQ(receive().size(), 1u);
    EXPECT_EQ(sent(), (Counts{0, 1}));
    members[1]->receive(frame(host(0), host(1)));
    EXPECT_EQ(receive().size(), 1u);
    EXPECT_EQ(sent(), (Counts{1, 1}));
}

TEST_F(BridgeTest, AloneAMemberIsPassedThrough) {
    members.clear();
    build(1);
    EXPECT_FALSE(bridge->set_identity({.mac = us}));
    EXPECT_EQ(members[0]->identity.mac, us);
    members[0]->receive(test::pattern(13));
    EXPECT_EQ(receive().size(), 1u) << "untouched, whatever it is";
    ASSERT_TRUE(send(frame(host(5), us)));
    EXPECT_EQ(sent(), Counts{1});
}

TEST_F(BridgeTest, OffersWhatEveryMemberHas) {
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

TEST_F(BridgeTest, RefusesWhatIsNoEthernet) {
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

/// A device with a descriptor that tells of arrivals while it is wanted.
struct WakingDevice : FakeNetDevice {
    int rx_event(std::uint16_t) const noexcept override { return event.get(); }
    void want_rx_event(std::uint16_t, bool value) noexcept override { wanted = value; }
    void arrive() const {
        if (wanted) event.signal();
    }
    EventDescriptor event = EventDescriptor::make();
    bool wanted = false;
};

bool readable(int fd) {
    pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
    return poll(&one, 1, 0) == 1;
}

TEST(BridgeEvents, AnyMemberWakesWhoeverWantsIt) {
    std::vector<std::unique_ptr<NetDevice>> devices;
    std::vector<WakingDevice*> members;
    for (unsigned i = 0; i < 3; ++i) {
        auto device = std::make_unique<WakingDevice>();
        members.push_back(device.get());
        devices.push_back(std::move(device));
    }
    const auto bridge = Bridge::create("b", std::move(devices), test::packet_pool(), [] { return Time{0}; }).value();
    for (auto* member : members) {
        bridge->want_rx_event(0, true);
        const int fd = bridge->rx_event(0);
        ASSERT_GE(fd, 0);
        EXPECT_FALSE(readable(fd));
        member->arrive();
        EXPECT_TRUE(readable(fd));
        bridge->want_rx_event(0, false);
        EXPECT_FALSE(readable(fd)) << "what it has told is taken back";
        EXPECT_FALSE(member->wanted);
    }
}

TEST(BridgeEvents, WhileFramesWaitForAFullMemberThereIsNone) {
    std::vector<std::unique_ptr<NetDevice>> devices;
    std::vector<WakingDevice*> members;
    for (unsigned i = 0; i < 2; ++i) {
        members.push_back(new WakingDevice);
        devices.emplace_back(members.back());
    }
    const auto bridge = Bridge::create("b", std::move(devices), test::packet_pool(), [] { return Time{0}; }).value();
    ASSERT_FALSE(bridge->set_identity({.mac = us}));
    std::array<rte_mbuf*, 8> ours;
    members[1]->tx_room = 0;
    members[0]->receive(BridgeTest::frame(host(1), host(0)));
    EXPECT_EQ(bridge->rx_burst(0, ours), 0);
    bridge->want_rx_event(0, true);
    EXPECT_EQ(bridge->rx_event(0), -1) << "nobody tells when the member has room";

    members[1]->tx_room = 1;
    EXPECT_EQ(bridge->rx_burst(0, ours), 0);
    EXPECT_EQ(members[1]->sent.size(), 1u);
    bridge->want_rx_event(0, true);
    EXPECT_GE(bridge->rx_event(0), 0);
}

TEST_F(BridgeTest, WithAMemberThatCannotWakeItHasNoEvent) {
    bridge->want_rx_event(0, true);
    EXPECT_EQ(bridge->rx_event(0), -1);
    for (auto* member : members) member->link = false;
    bridge->link_up();
    bridge->want_rx_event(0, true);
    EXPECT_GE(bridge->rx_event(0), 0) << "nothing comes from a member that is down";
}

TEST_F(BridgeTest, CanBeWaitedForAgainWhenThatMemberIsDown) {
    Wakeups wakeups;
    EXPECT_FALSE(wakeups.want(*bridge, 0, 0));
    for (auto* member : members) member->link = false;
    bridge->link_up();
    EXPECT_TRUE(wakeups.want(*bridge, 0, 0));
}

TEST_F(BridgeTest, WakesItsReceiverWhenAMemberComesUpAsItsEventIsNew) {
    for (auto* member : members) member->link = false;
    bridge->link_up();
    bridge->want_rx_event(0, false);
    bridge->want_rx_event(0, true);
    ASSERT_FALSE(readable(bridge->rx_event(0)));
    members[0]->link = true;
    bridge->link_up();
    EXPECT_TRUE(readable(bridge->rx_event(0)));
    bridge->want_rx_event(0, false);
    bridge->link_up();
    EXPECT_FALSE(readable(bridge->rx_event(0))) << "nothing has changed since";
}

}  // namespace
}  // namespace verbline::pmd

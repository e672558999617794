// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/bridge/switch.h"

#include <array>
#include <cstring>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "tests/pmd/bridge/frames.h"
#include "tests/support/fake_netdev.h"

namespace verbline::pmd {
namespace {

using test::FakeNetDevice, test::frame, test::mac;

constexpr wire::MacAddress far = mac(1, 0x0a), some_group = mac(9, 3),
                           multicast_dns{{std::byte{1}, {}, std::byte{0x5e}, {}, {}, std::byte{0xfb}}};
constexpr wire::MacAddress solicited{{std::byte{0x33}, std::byte{0x33}, std::byte{0xff}, {}, {}, std::byte{1}}};

struct SwitchTest : ::testing::Test {
    struct Lane {
        FakeNetDevice* device;
        Switch::PortId id;
    };
    /// `mac(i)` lives on lane i.
    Lane& add_lane(unsigned number) {
        auto device = std::make_unique<FakeNetDevice>("lane" + std::to_string(number));
        auto* const fake = device.get();
        const auto id = fabric.add_lane(std::move(device), mac(number));
        return lanes.emplace_back(fake, id);
    }
    FakeNetDevice* add_uplink() {
        auto device = std::make_unique<FakeNetDevice>("uplink");
        auto* const fake = device.get();
        uplink_ids.push_back(fabric.add_uplink(std::move(device)).value());
        return fake;
    }
    void SetUp() override {
        for (unsigned i = 0; i < 3; ++i) add_lane(i);
        look();
    }
    void look() { fabric.upkeep(now, Switch::Links::all); }
    void poll_all() {
        while (fabric.poll()) {}
    }
    void receive(FakeNetDevice& device, const test::ByteVector& bytes) {
        device.receive(bytes);
        poll_all();
    }
    std::vector<std::size_t> sent() const {
        std::vector<std::size_t> counts;
        for (const auto& lane : lanes) counts.push_back(lane.device->sent.size());
        return counts;
    }
    const SwitchPortCounters& counters(unsigned lane) const { return fabric.counters(lanes[lane].id); }
    using Counts = std::vector<std::size_t>;

    Time now = 0;
    Switch fabric{{.pool = test::packet_pool(), .waiting = 30}};
    std::vector<Lane> lanes;
    std::vector<Switch::PortId> uplink_ids;
};

TEST_F(SwitchTest, ALanesAddressIsKnownFromTheStart) {
    receive(*lanes[0].device, frame(mac(2), mac(0), 5));
    EXPECT_EQ(sent(), (Counts{0, 0, 1})) << "not flooded";
    EXPECT_EQ(test::bytes_of(lanes[2].device->sent[0]), frame(mac(2), mac(0), 5));
    EXPECT_EQ(counters(0).rx_packets.value(), 1u);
    EXPECT_EQ(counters(0).rx_bytes.value(), 100u);
    EXPECT_EQ(counters(2).tx_packets.value(), 1u);
    EXPECT_EQ(counters(2).tx_bytes.value(), 100u);
}

TEST_F(SwitchTest, ALaneSendsFromItsOwnAddressOnly) {
    for (const auto& source : {mac(1), far, wire::MacAddress{}, wire::broadcast_mac, some_group}) {
        receive(*lanes[0].device, frame(mac(2), source));
    }
    receive(*lanes[0].device, test::ByteVector(13));
    EXPECT_EQ(sent(), (Counts{0, 0, 0}));
    EXPECT_EQ(counters(0).rx_dropped_source.value(), 5u);
    EXPECT_EQ(counters(0).rx_dropped_runt.value(), 1u);
}

TEST_F(SwitchTest, AGuardedLaneSendsAsItselfOnly) {
    auto address = wire::Gid{};
    wire::store16(address.bytes, 10, 0xffff);
    wire::store32(address.bytes, 12, 0x0a00'0001);
    auto device = std::make_unique<FakeNetDevice>();
    auto& guarded = *device;
    const auto id = fabric.add_lane(std::move(device), mac(7), SourceGuard(mac(7), {address}));
    look();
    const auto typed = [&](unsigned type, unsigned last) {
        auto bytes = frame(mac(2), mac(7));
        bytes[12] = static_cast<std::byte>(type >> 8), bytes[13] = static_cast<std::byte>(type);
        std::memcpy(bytes.data() + 26, &address.bytes[12], 4);
        bytes[29] = static_cast<std::byte>(last);
        return bytes;
    };
    receive(guarded, typed(0x0800, 1));
    EXPECT_EQ(sent(), (Counts{0, 0, 1}));
    receive(guarded, typed(0x0800, 2));
    receive(guarded, typed(0x86dd, 1));
    receive(guarded, typed(0x0806, 1));
    EXPECT_EQ(sent(), (Counts{0, 0, 1}));
    EXPECT_EQ(fabric.counters(id).rx_dropped_source_ip.value(), 2u);
    EXPECT_EQ(fabric.counters(id).rx_dropped_arp.value(), 1u);
    receive(*lanes[0].device, frame(mac(2), mac(0)));
    EXPECT_EQ(sent(), (Counts{0, 0, 2})) << "without a guard anything goes";
    auto next = address;
    next.bytes[15] = std::byte{2};
    fabric.set_guard(id, SourceGuard(mac(7), {next}));
    receive(guarded, typed(0x0800, 2));
    EXPECT_EQ(sent(), (Counts{0, 0, 3})) << "its new address";
    receive(guarded, typed(0x0800, 1));
    EXPECT_EQ(sent(), (Counts{0, 0, 3}));
    EXPECT_EQ(fabric.counters(id).rx_dropped_source_ip.value(), 3u);
}

TEST_F(SwitchTest, UnknownUnicastIsDroppedWithoutAnUplink) {
    receive(*lanes[0].device, frame(far, mac(0)));
    receive(*lanes[0].device, frame(mac(0), mac(0)));
    EXPECT_EQ(sent(), (Counts{0, 0, 0}));
    EXPECT_EQ(counters(0).rx_dropped_no_receiver.value(), 2u);
}

TEST_F(SwitchTest, BroadcastReachesAllOthersInCopies) {
    receive(*lanes[1].device, frame(wire::broadcast_mac, mac(1), 3));
    EXPECT_EQ(sent(), (Counts{1, 0, 1}));
    *rte_pktmbuf_mtod(lanes[0].device->sent[0].get(), char*) = 'x';
    EXPECT_EQ(test::bytes_of(lanes[2].device->sent[0]), frame(wire::broadcast_mac, mac(1), 3));
}

TEST_F(SwitchTest, AGroupReachesItsMembersOnceItHasSome) {
    receive(*lanes[0].device, frame(some_group, mac(0)));
    EXPECT_EQ(sent(), (Counts{0, 1, 1})) << "nobody joined: everyone";
    fabric.set_group(lanes[2].id, some_group, true);
    receive(*lanes[0].device, frame(some_group, mac(0)));
    EXPECT_EQ(sent(), (Counts{0, 1, 2}));
    fabric.set_group(lanes[1].id, some_group, true);
    receive(*lanes[2].device, frame(some_group, mac(2)));
    EXPECT_EQ(sent(), (Counts{0, 2, 2})) << "not back to the sender";
    fabric.set_group(lanes[1].id, some_group, false);
    receive(*lanes[2].device, frame(some_group, mac(2)));
    EXPECT_EQ(counters(2).rx_dropped_no_receiver.value(), 1u) << "the sender is the only member";
    fabric.remove(lanes[2].id);
    lanes.pop_back();
    receive(*lanes[0].device, frame(some_group, mac(0)));
    EXPECT_EQ(sent(), (Counts{0, 3})) << "the last member is gone: everyone again";
}

TEST_F(SwitchTest, WhatALaneSaidBeforeItLeftIsPassedOn) {
    poll_all();
    for (unsigned i = 0; i < 100; ++i) lanes[0].device->receive(frame(mac(1 + i % 2), mac(0), i));
    fabric.remove(lanes[0].id);
    lanes.erase(lanes.begin());
    EXPECT_EQ(sent(), (Counts{50, 50}));
}

TEST_F(SwitchTest, GroupsThatEverybodyNeedsReachAllWhoeverJoins) {
    for (const auto& to :
         {solicited, wire::MacAddress{{std::byte{0x33}, std::byte{0x33}, {}, {}, {}, std::byte{1}}}, multicast_dns}) {
        fabric.set_group(lanes[1].id, to, true);
        receive(*lanes[0].device, frame(to, mac(0)));
    }
    EXPECT_EQ(sent(), (Counts{0, 3, 3}));
}

TEST_F(SwitchTest, WhatIsForNoLaneIsForTheUplink) {
    auto* const uplink = add_uplink();
    look();
    receive(*lanes[0].device, frame(far, mac(0)));
    EXPECT_EQ(uplink->sent.size(), 1u);
    receive(*uplink, frame(mac(1), far));
    receive(*uplink, frame(wire::broadcast_mac, far));
    fabric.set_group(lanes[2].id, some_group, true);
    receive(*uplink, frame(some_group, far));
    receive(*lanes[0].device, frame(some_group, mac(0)));
    EXPECT_EQ(uplink->sent.size(), 2u) << "who wants a group there is not known";
    EXPECT_EQ(sent(), (Counts{1, 2, 3}));
    receive(*uplink, frame(mac(77), far));
    EXPECT_EQ(sent(), (Counts{1, 2, 3})) << "not ours";
    EXPECT_EQ(fabric.counters(uplink_ids[0]).rx_dropped_no_receiver.value(), 1u);
    EXPECT_EQ(uplink->sent.size(), 2u);
}

TEST_F(SwitchTest, AnUplinkMayNotSpeakForALane) {
    auto* const uplink = add_uplink();
    look();
    for (const auto& source : {mac(1), wire::MacAddress{}, some_group}) receive(*uplink, frame(mac(0), source));
    EXPECT_EQ(sent(), (Counts{0, 0, 0}));
    EXPECT_EQ(fabric.counters(uplink_ids[0]).rx_dropped_source.value(), 3u);
}

TEST_F(SwitchTest, WhichUplinkLeadsWhereIsLearned) {
    auto *const one = add_uplink(), *const two = add_uplink();
    look();
    receive(*lanes[0].device, frame(far, mac(0)));
    EXPECT_EQ(one->sent.size() + two->sent.size(), 2u) << "unknown: both";
    receive(*two, frame(mac(0), far));
    receive(*lanes[0].device, frame(far, mac(0)));
    receive(*one, frame(far, mac(5, 0x0a)));
    EXPECT_EQ(one->sent.size(), 1u);
    EXPECT_EQ(two->sent.size(), 3u);
    two->link = false;
    look();
    two->link = true;
    look();
    receive(*lanes[0].device, frame(far, mac(0)));
    EXPECT_EQ(one->sent.size(), 2u) << "what was behind a link that went down is forgotten";
    now += ForwardingTable::max_age + 5 * second;
    receive(*one, frame(mac(0), far));
    look();
    now += ForwardingTable::max_age + 5 * second;
    look();
    receive(*lanes[0].device, frame(far, mac(0)));
    EXPECT_EQ(two->sent.size(), 5u) << "what is old is forgotten";
}

TEST_F(SwitchTest, OrderIsKeptToEachReceiver) {
    for (unsigned i = 0; i < 20; ++i) {
        const std::array targets{mac(1), mac(2), wire::broadcast_mac};
        lanes[0].device->receive(frame(targets[i % 3], mac(0), i));
    }
    poll_all();
    for (const auto lane : {1u, 2u}) {
        std::vector<test::ByteVector> expected, got;
        for (unsigned i = 0; i < 20; ++i) {
            if (i % 3 == 2) expected.push_back(frame(wire::broadcast_mac, mac(0), i));
            if (i % 3 == lane - 1) expected.push_back(frame(mac(lane), mac(0), i));
        }
        for (const auto& packet : lanes[lane].device->sent) got.push_back(test::bytes_of(packet));
        EXPECT_EQ(got, expected);
    }
}

TEST_F(SwitchTest, AFullReceiverDropsItsOwnAndBlocksNoOther) {
    lanes[1].device->tx_room = 4;
    for (unsigned i = 0; i < 30; ++i) {
        lanes[0].device->receive(frame(mac(1), mac(0), i));
        lanes[0].device->receive(frame(mac(2), mac(0), i));
    }
    poll_all();
    EXPECT_EQ(sent(), (Counts{0, 4, 30}));
    EXPECT_EQ(counters(1).tx_dropped_full.value(), 16u) << "4 sent and its share, 10 of 30 buffers, waiting";
    EXPECT_EQ(counters(1).tx_packets.value(), 4u);
    lanes[1].device->tx_room = 100;
    fabric.poll();
    EXPECT_EQ(counters(1).tx_packets.value(), 14u);
    EXPECT_EQ(counters(1).tx_bytes.value(), 1400u);
    ASSERT_EQ(lanes[1].device->sent.size(), 14u);
    EXPECT_EQ(test::bytes_of(lanes[1].device->sent[13]), frame(mac(1), mac(0), 13)) << "the first that came";
}

TEST_F(SwitchTest, ABusyLaneDoesNotStarveAnother) {
    for (unsigned i = 0; i < 1000; ++i) lanes[0].device->receive(frame(mac(2), mac(0)));
    for (unsigned i = 0; i < 10; ++i) lanes[1].device->receive(frame(mac(2), mac(1)));
    fabric.poll();
    EXPECT_TRUE(lanes[1].device->to_receive.empty());
    EXPECT_LE(lanes[2].device->sent.size(), 64u) << "a share for each";
    for (auto& lane : lanes) lane.device->to_receive.clear();
}

TEST_F(SwitchTest, ALaneThatIsGoneLeavesNothingBehind) {
    lanes[1].device->tx_room = 0;
    receive(*lanes[0].device, frame(mac(1), mac(0)));  // waits; freed with the port, or the pool check fails
    fabric.remove(lanes[1].id);
    lanes.erase(lanes.begin() + 1);
    receive(*lanes[0].device, frame(mac(1), mac(0)));
    EXPECT_EQ(counters(0).rx_dropped_no_receiver.value(), 1u);
    add_lane(1);
    look();
    receive(*lanes[0].device, frame(mac(1), mac(0)));
    EXPECT_EQ(sent(), (Counts{0, 0, 1}));
}

TEST_F(SwitchTest, EveryFrameIsAccountedForWhenItsPortsAreGone) {
    lanes[2].device->tx_room = 5;
    receive(*lanes[0].device, frame(wire::broadcast_mac, mac(0)));
    for (unsigned i = 0; i < 30; ++i) lanes[1].device->receive(frame(mac(2), mac(1)));
    lanes[1].device->receive(frame(far, mac(1)));
    lanes[1].device->receive(frame(mac(0), mac(2)));
    poll_all();
    lanes[0].device->receive(frame(wire::broadcast_mac, mac(0)));  // still in its ring
    for (const auto lane : {0, 2, 1}) fabric.remove(lanes[static_cast<std::size_t>(lane)].id);
    std::map<std::string, std::uint64_t, std::less<>> sums;
    fabric.removed_ports().each([&](auto name, auto value, auto) { sums.emplace(name, value); });
    EXPECT_EQ(sums["rx_packets"], 34u);
    EXPECT_EQ(sums["rx_replicated"], 2u);
    EXPECT_EQ(sums["rx_bytes"], 3400u);
    EXPECT_EQ(sums["rx_dropped_no_receiver"], 1u);
    EXPECT_EQ(sums["rx_dropped_source"], 1u);
    EXPECT_EQ(sums["tx_packets"], 2u + 5) << "both broadcasts to lane 1, and what lane 2 had room for";
    EXPECT_EQ(sums["tx_bytes"], 700u);
    EXPECT_EQ(sums["tx_dropped_removed"], 10u + 1) << "a third of the buffers; then the broadcast, for fewer ports";
    std::uint64_t dropped = 0;
    for (const auto& [name, value] : sums) dropped += name.find("dropped") != std::string::npos ? value : 0;
    EXPECT_EQ(sums["rx_packets"] + sums["rx_replicated"], sums["tx_packets"] + dropped);
    EXPECT_EQ(fabric.counters().removed_ports.value(), 3u);
    fabric.removed_devices().each([](auto name, auto value, auto) {
        EXPECT_EQ(name, "fake_counter");
        EXPECT_EQ(value, 3u) << "of three devices";
    });
}

TEST_F(SwitchTest, ManyLanes) {
    for (unsigned i = 3; i < 256; ++i) add_lane(i);
    look();
    for (unsigned i = 0; i < 256; ++i) receive(*lanes[i].device, frame(mac(255 - i), mac(i)));
    EXPECT_EQ(sent(), Counts(256, 1));
}

}  // namespace
}  // namespace verbline::pmd

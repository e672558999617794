// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/bridge/switch.h"

#include <array>
#include <cstring>
#include <string>
#include <thread>

#include <sys/eventfd.h>

#include <gtest/gtest.h>

#include "pmd/clock.h"
#include "tests/support/fake_netdev.h"

namespace verbline::pmd {
namespace {

using test::FakeNetDevice;

constexpr wire::MacAddress mac(unsigned last, unsigned first = 2) {
    return {{static_cast<std::byte>(first), {}, {}, {}, {}, static_cast<std::byte>(last)}};
}
constexpr wire::MacAddress far = mac(1, 0x0a), some_group = mac(9, 3),
                           multicast_dns{{std::byte{1}, {}, std::byte{0x5e}, {}, {}, std::byte{0xfb}}};
constexpr wire::MacAddress solicited{{std::byte{0x33}, std::byte{0x33}, std::byte{0xff}, {}, {}, std::byte{1}}};

test::ByteVector frame(const wire::MacAddress& to, const wire::MacAddress& from, unsigned mark = 0) {
    auto bytes = test::pattern(100, mark);
    std::memcpy(bytes.data(), to.bytes.data(), 6);
    std::memcpy(bytes.data() + 6, from.bytes.data(), 6);
    return bytes;
}

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
    void look() { fabric.look_after(now, Switch::Links::all); }
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

TEST_F(SwitchTest, WhatNobodyHasIsDroppedWithoutAnUplink) {
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

TEST_F(SwitchTest, AFullReceiverDropsItsOwnAndBlocksNobody) {
    lanes[1].device->tx_room = 4;
    for (unsigned i = 0; i < 30; ++i) {
        lanes[0].device->receive(frame(mac(1), mac(0), i));
        lanes[0].device->receive(frame(mac(2), mac(0), i));
    }
    poll_all();
    EXPECT_EQ(sent(), (Counts{0, 4, 30}));
    EXPECT_EQ(counters(1).tx_dropped_full.value(), 16u) << "4 sent and its share, 10 of 30 buffers, waiting";
    EXPECT_EQ(counters(1).tx_packets.value(), 14u);
    lanes[1].device->tx_room = 100;
    fabric.poll();
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

TEST_F(SwitchTest, ManyLanes) {
    for (unsigned i = 3; i < 256; ++i) add_lane(i);
    look();
    for (unsigned i = 0; i < 256; ++i) receive(*lanes[i].device, frame(mac(255 - i), mac(i)));
    EXPECT_EQ(sent(), Counts(256, 1));
}

/// A device that wakes whoever sleeps, and is used by two threads.
class EventDevice : public FakeNetDevice {
public:
    int rx_event(std::uint16_t) const noexcept override { return event_.get(); }
    void want_rx_event(std::uint16_t, bool wanted) noexcept override {
        wanted_ = wanted;
        eventfd_t value;
        if (!wanted) eventfd_read(event_.get(), &value);
    }
    std::uint16_t rx_burst(std::uint16_t, Burst burst) noexcept override {
        if (waiting_.exchange(false)) {
            burst[0] = test::make_packet(frame(pmd::mac(1), pmd::mac(0))).release();
            return 1;
        }
        return 0;
    }
    std::uint16_t tx_burst(std::uint16_t, Burst burst) noexcept override {
        rte_pktmbuf_free_bulk(burst.data(), static_cast<unsigned>(burst.size()));
        done += burst.size();
        done.notify_one();
        return static_cast<std::uint16_t>(burst.size());
    }
    void arrive() {
        waiting_ = true;
        if (wanted_) eventfd_write(event_.get(), 1);
    }
    std::atomic<std::size_t> done{0};

private:
    FileDescriptor event_{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
    std::atomic<bool> wanted_{false}, waiting_{false};
};

TEST(SwitchSleep, NoFrameIsLeftLyingWhileLanesComeAndGo) {
    Switch fabric({.pool = test::packet_pool()});
    auto from = std::make_unique<EventDevice>(), to = std::make_unique<EventDevice>();
    auto &source = *from, &sink = *to;
    fabric.add_lane(std::move(from), mac(0));
    fabric.add_lane(std::move(to), mac(1));
    fabric.look_after(0, Switch::Links::all);
    std::atomic<bool> stop{false};
    std::thread poller([&] { fabric.run(stop); });
    const auto began = monotonic_now();
    std::vector<Switch::PortId> others;
    constexpr std::size_t frames = 3000;
    for (std::size_t i = 0; i < frames; ++i) {
        if (i % 10 == 0) others.push_back(fabric.add_lane(std::make_unique<EventDevice>(), mac(100)));
        if (i % 10 == 5) fabric.remove(others.back());
        source.arrive();
        sink.done.wait(i);
    }
    // A frame that nobody was woken for would wait for the longest sleep.
    EXPECT_LT(monotonic_now() - began, 20 * second);
    EXPECT_EQ(sink.done, frames);
    stop = true;
    fabric.wake();
    poller.join();
    EXPECT_GT(fabric.counters().sleeps.value(), 0u);
}

TEST(SwitchSleep, AnIdleSwitchSleeps) {
    Switch fabric({.pool = test::packet_pool()});
    const auto sleeps = [&] {
        const auto began = monotonic_now();
        fabric.wait();
        return monotonic_now() - began > 50 * millisecond;
    };
    EXPECT_TRUE(sleeps()) << "before the first lane";
    fabric.add_lane(std::make_unique<EventDevice>(), mac(0));
    fabric.look_after(0, Switch::Links::all);
    EXPECT_FALSE(sleeps()) << "something has changed";
    EXPECT_TRUE(sleeps());
    std::thread([&] { fabric.wake(); }).join();
    EXPECT_FALSE(sleeps());
}

}  // namespace
}  // namespace verbline::pmd

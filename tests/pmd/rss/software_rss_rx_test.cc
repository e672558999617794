// SPDX-License-Identifier: BSD-3-Clause
// How packets reach the queue of their flow, and what a full ring or a stalled thread does to them.
#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pmd/base/clock.h"
#include "pmd/base/tunables.h"
#include "pmd/rss/handover_ring.h"
#include "pmd/rss/software_rss.h"
#include "tests/pmd/rss/devices.h"

namespace verbline::pmd {
namespace {

using test::MarkHash, test::options_of, test::QueuedDevice, test::Shared;
using ::testing::Each, ::testing::IsEmpty, ::testing::Not, ::testing::SizeIs;

/// `queues` over a device of one queue, whose packets wait at their sender. The first is its owner.
void make_lossless(Shared& shared, std::uint16_t queues) {
    auto inside = std::make_unique<QueuedDevice>(1, 1);
    inside->capabilities().lossless_rx = true;
    shared.inside = inside.get();
    shared.device = SoftwareRss::create(std::move(inside), options_of(shared.flows, queues, {0})).value();
}

TEST(SoftwareRss, SpreadsByTheRedirectionTable) {
    Shared shared(3, {1});
    auto options = options_of(shared.flows, 3, {1});
    options.redirection = {0, 1, 2, 2, 1, 1, 0, 2};
    const auto table = options.redirection;
    shared.make(std::move(options), 1, 1);
    std::mt19937 random(1);
    std::array<std::size_t, 3> expected{}, got{};
    for (int round = 0; round < 60; ++round) {
        for (int i = 0; i < 50; ++i) {
            const auto mark = static_cast<std::uint32_t>(random()) | 8;  // not that of no flow
            shared.arrive(mark);
            ++expected[table[mark % 8]];
        }
        for (const std::uint16_t queue : {1, 0, 2}) {
            for (const auto& packet : shared.receive(queue)) {
                EXPECT_EQ(table[MarkHash::mark_of(packet.get()) % 8], queue);
                ++got[queue];
            }
        }
    }
    EXPECT_EQ(got, expected);
    EXPECT_EQ(shared.counter("rx_handed_over"), expected[0] + expected[2]);
    EXPECT_EQ(shared.counter("rx_taken_over"), expected[0] + expected[2]);
    EXPECT_EQ(shared.counter("rx_dropped_handover_full"), 0u);
}

TEST(SoftwareRss, AnotherRedirectionTableAppliesToWhatComes) {
    Shared shared(2, {0});
    shared.arrive(2, 1);
    EXPECT_THAT(shared.receive(0), SizeIs(1)) << "even marks are queue 0's";
    ASSERT_TRUE(shared.device->redirect({1, 0}));
    EXPECT_EQ(shared.device->rss()->queues, (std::vector<std::uint16_t>{1, 0}));
    shared.arrive(2, 2);
    EXPECT_THAT(shared.receive(0), IsEmpty());
    EXPECT_THAT(shared.receive(1), SizeIs(1));
}

TEST(SoftwareRss, ARedirectionTableThatCannotBeIsRefused) {
    Shared shared(2, {0});
    EXPECT_FALSE(shared.device->redirect({0, 2})) << "there is no queue 2";
    EXPECT_FALSE(shared.device->redirect({0, 1, 0, 1})) << "the table's size is the device's";
    EXPECT_EQ(shared.device->rss()->queues, (std::vector<std::uint16_t>{0, 1}));
}

TEST(SoftwareRss, SteersPacketsWithoutFlowToFirstOwner) {
    Shared shared(3, {2, 0});
    shared.arrive(FlowHash::none, 1, 0);
    shared.arrive(FlowHash::none, 2, 1);
    EXPECT_THAT(shared.receive(0), IsEmpty());
    EXPECT_THAT(shared.receive(2), SizeIs(2));
}

TEST(SoftwareRss, KeepsTheOrderOfEachFlow) {
    for (const std::vector<std::uint16_t>& owners : {std::vector<std::uint16_t>{0}, {3}, {1, 2}, {1, 1, 0}}) {
        Shared shared(4, owners);
        std::mt19937 random(7);
        constexpr std::uint32_t flow_count = 16;
        std::array<std::uint32_t, flow_count> next{}, expected{};
        std::array<std::uint16_t, flow_count> queue_of_flow{};
        std::size_t arrived = 0, received = 0;
        for (int round = 0; round < 1000; ++round) {
            for (auto i = random() % 16; i > 0; --i, ++arrived) {
                const std::uint32_t flow = random() % flow_count;
                shared.arrive(flow + 16, next[flow]++, static_cast<std::uint16_t>(flow % owners.size()));
            }
            const auto queue = static_cast<std::uint16_t>(random() % 4);
            for (const auto& packet : shared.receive(queue, random() % 65)) {
                const auto flow = MarkHash::mark_of(packet.get()) - 16;
                ASSERT_EQ(MarkHash::number_of(packet.get()), expected[flow]++) << "flow " << flow;
                queue_of_flow[flow] = queue;
                ++received;
            }
        }
        for (std::uint16_t round = 0; received < arrived && round < 1000; ++round) {
            received += shared.receive(round % 4).size();
        }
        EXPECT_EQ(received, arrived) << "nothing is dropped while rings have room";
        for (std::uint32_t flow = 0; flow < flow_count; ++flow) EXPECT_EQ(queue_of_flow[flow], flow % 4);
    }
}

TEST(SoftwareRss, DropsOnlyPacketsForAStalledQueue) {
    Shared shared(3, {0});
    constexpr std::uint32_t rounds = 20;
    std::size_t others = 0;
    for (std::uint32_t round = 0; round < rounds; ++round) {
        for (std::uint32_t i = 0; i < 60; ++i) shared.arrive(i % 3 + 4);  // 4 goes to queue 0, 5 to 1, 6 to 2
        others += shared.receive(0).size() + shared.receive(1).size();
    }
    EXPECT_EQ(others, rounds * 40);
    EXPECT_EQ(shared.counter("rx_dropped_handover_full"), 0u);
    for (std::uint32_t i = 0; i < 60; ++i) shared.arrive(6);
    EXPECT_THAT(shared.receive(0), IsEmpty());
    for (std::uint32_t i = 0; i < 60; ++i) shared.arrive(6);
    EXPECT_THAT(shared.receive(0), IsEmpty());
    EXPECT_TRUE(shared.device->rx_consumed(0)) << "though they are lost";
    EXPECT_EQ(shared.counter("rx_dropped_handover_full"), rounds * 20 + 120 - HandoverRing::capacity);
    std::size_t left = 0;
    while (const auto n = shared.receive(2).size()) left += n;
    EXPECT_EQ(left, HandoverRing::capacity);
}

TEST(SoftwareRss, DoesNotReadALosslessDeviceWhileARingIsFull) {
    Shared shared(2, {0});
    make_lossless(shared, 2);
    constexpr std::uint32_t count = 1000;
    for (std::uint32_t i = 0; i < count; ++i) shared.arrive(3, i);
    for (const auto end = monotonic_now() + 2 * tunables::handover_stall; monotonic_now() < end;) {
        shared.device->tx_burst(1, {});  // its thread is congested, but has its turns
        ASSERT_THAT(shared.receive(0), IsEmpty());
    }
    EXPECT_THAT(shared.inside->queues[0].to_receive, SizeIs(count - HandoverRing::capacity))
        << "they wait at their sender";
    EXPECT_FALSE(shared.device->rx_consumed(0));
    shared.device->want_rx_event(0, true);
    EXPECT_EQ(shared.device->rx_event(0), -1) << "no event tells of room in the ring";
    shared.device->want_rx_event(0, false);

    std::uint32_t next = 0;
    for (int i = 0; i < 100; ++i) {
        for (const auto& packet : shared.receive(1)) EXPECT_EQ(MarkHash::number_of(packet.get()), next++);
        EXPECT_THAT(shared.receive(0), IsEmpty());
    }
    EXPECT_EQ(next, count);
    EXPECT_EQ(shared.counter("rx_dropped_handover_full"), 0u);
    shared.device->want_rx_event(0, true);
    EXPECT_GE(shared.device->rx_event(0), 0);
    shared.device->want_rx_event(0, false);
}

TEST(SoftwareRss, ReadsALosslessDeviceDespiteAStalledQueue) {
    Shared shared(3, {0});
    make_lossless(shared, 3);
    constexpr std::uint32_t lost = 10;
    for (std::uint32_t i = 0; i < HandoverRing::capacity + lost; ++i) shared.arrive(6, i);  // for queue 2
    shared.arrive(4), shared.arrive(5);
    const auto start = monotonic_now();
    std::size_t others = 0;
    while (others < 2 && monotonic_now() < start + 10 * second) {
        others += shared.receive(0).size() + shared.receive(1).size();
    }
    EXPECT_EQ(others, 2u);
    EXPECT_GE(monotonic_now() - start, tunables::handover_stall) << "the ring is given that time";
    EXPECT_EQ(shared.counter("rx_dropped_handover_full"), lost);
    shared.arrive(5);
    EXPECT_THAT(shared.receive(0), IsEmpty());
    EXPECT_THAT(shared.receive(1), SizeIs(1)) << "others do not wait again";

    std::uint32_t next = 0;
    while (next < HandoverRing::capacity) {
        const auto got = shared.receive(2);
        ASSERT_THAT(got, Not(IsEmpty()));
        for (const auto& packet : got) EXPECT_EQ(MarkHash::number_of(packet.get()), next++);
    }
    shared.arrive(6);
    EXPECT_THAT(shared.receive(0), IsEmpty());
    EXPECT_THAT(shared.receive(2), SizeIs(1)) << "it goes on";
    EXPECT_EQ(shared.counter("rx_dropped_handover_full"), lost);
}

TEST(SoftwareRss, RxConsumedIsTrueWhenAllPacketsAreHandedOver) {
    Shared shared(2, {0});
    EXPECT_THAT(shared.receive(0), IsEmpty());
    EXPECT_FALSE(shared.device->rx_consumed(0));
    shared.arrive(3);
    EXPECT_THAT(shared.receive(0), IsEmpty());
    EXPECT_TRUE(shared.device->rx_consumed(0));
    EXPECT_THAT(shared.receive(0), IsEmpty());
    EXPECT_FALSE(shared.device->rx_consumed(0));
    EXPECT_THAT(shared.receive(1), SizeIs(1));
    EXPECT_FALSE(shared.device->rx_consumed(1));
}

TEST(SoftwareRss, ReadsDeviceAndRingFairly) {
    Shared shared(2, {0, 1});
    std::array<unsigned, 2> of_queue{};
    for (unsigned round = 0; round < 100; ++round) {
        for (int i = 0; i < 40; ++i) shared.arrive(2, 0, 0);  // more than it reads
        for (int i = 0; i < 8; ++i) shared.arrive(2, 1, 1);
        EXPECT_THAT(shared.receive(1), IsEmpty());
        for (const auto& packet : shared.receive(0, 16)) ++of_queue[MarkHash::number_of(packet.get())];
    }
    EXPECT_THAT(of_queue, Each(::testing::Ge(700u)));
    EXPECT_EQ(shared.counter("rx_dropped_handover_full"), 0u);
}

}  // namespace
}  // namespace verbline::pmd

// SPDX-License-Identifier: BSD-3-Clause
// How packets are sent by way of the owner of a transmit queue.
#include <algorithm>
#include <cstdint>
#include <limits>
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

using test::Shared;
using ::testing::ElementsAre, ::testing::IsEmpty, ::testing::SizeIs, ::testing::UnorderedElementsAre;

TEST(SoftwareRss, RxConsumedIsTrueWhilePacketsAwaitTransmission) {
    Shared shared(2, {0});
    ASSERT_TRUE(shared.send(1, 0));
    shared.receive(0);
    EXPECT_TRUE(shared.device->rx_consumed(0)) << "or its thread would sleep with them";
    EXPECT_FALSE(shared.device->rx_consumed(1));
    shared.inside->queues[0].tx_room = 0;
    shared.device->tx_burst(0, {});
    ASSERT_TRUE(shared.send(1, 0));
    shared.receive(0);
    EXPECT_FALSE(shared.device->rx_consumed(0)) << "there is nothing to be done while the device is full";
}

TEST(SoftwareRss, TransmitsThroughTheOwner) {
    Shared shared(3, {1});
    ASSERT_TRUE(shared.send(0, 0, 10));
    ASSERT_TRUE(shared.send(2, 0, 20));
    ASSERT_TRUE(shared.send(0, 0, 11));
    EXPECT_THAT(shared.sent(), IsEmpty());
    ASSERT_TRUE(shared.send(1, 0, 30));
    EXPECT_THAT(shared.sent(), ElementsAre(10, 11, 20, 30));
    EXPECT_EQ(shared.counter("tx_handed_over"), 3u);
    EXPECT_EQ(shared.queue_counter(0, "tx_handed_over"), 2u);
    EXPECT_EQ(shared.queue_counter(1, "tx_handed_over"), 0u);
}

TEST(SoftwareRss, RejectsPacketsWhenTheRingIsFull) {
    Shared shared(2, {0});
    for (std::uint32_t i = 0; i < HandoverRing::capacity; ++i) ASSERT_TRUE(shared.send(1, 0, i));
    EXPECT_FALSE(shared.send(1, 0)) << "it stays the sender's";
    std::vector<std::uint32_t> sent;
    for (unsigned i = 0; i < HandoverRing::capacity / max_burst; ++i) {
        shared.device->tx_burst(0, {});
        const auto some = shared.sent();
        sent.insert(sent.end(), some.begin(), some.end());
    }
    ASSERT_THAT(sent, SizeIs(HandoverRing::capacity));
    EXPECT_TRUE(std::ranges::is_sorted(sent));
    EXPECT_TRUE(shared.send(1, 0));
}

TEST(SoftwareRss, WaitsForAFullDeviceButNotForAStalledOwner) {
    Shared shared(2, {0});
    shared.inside->queues[0].tx_room = 0;
    std::uint32_t taken = 0;
    const auto fill = [&] {
        while (shared.send(1, 3, taken)) ++taken;
        shared.device->tx_burst(0, {});
    };
    fill(), fill();
    ASSERT_EQ(taken, HandoverRing::capacity + max_burst) << "a burst has been offered to the device";
    for (const auto end = monotonic_now() + 2 * tunables::handover_stall; monotonic_now() < end;) {
        shared.device->tx_burst(0, {});
        ASSERT_FALSE(shared.send(1, 3));
    }
    EXPECT_EQ(shared.counter("tx_dropped_handover_full"), 0u);

    const auto start = monotonic_now();
    while (!shared.send(1, 3) && monotonic_now() < start + 10 * second) continue;
    EXPECT_EQ(shared.counter("tx_dropped_handover_full"), 1u);
    shared.inside->queues[0].tx_room = std::numeric_limits<std::size_t>::max();
    for (int i = 0; i < 100; ++i) shared.device->tx_burst(0, {});
    EXPECT_TRUE(shared.send(1, 3, taken++));
    shared.device->tx_burst(0, {});
    const auto sent = shared.sent();
    ASSERT_THAT(sent, SizeIs(taken));
    EXPECT_TRUE(std::ranges::is_sorted(sent)) << "what was taken leaves in order";
    EXPECT_EQ(shared.counter("tx_dropped_handover_full"), 1u);
}

TEST(SoftwareRss, HasNoRxEventWhileTheDeviceIsFull) {
    Shared shared(2, {0});
    shared.inside->queues[0].tx_room = 0;
    ASSERT_TRUE(shared.send(1, 0, 5));
    shared.device->tx_burst(0, {});
    shared.device->want_rx_event(0, true);
    EXPECT_EQ(shared.device->rx_event(0), -1) << "no event tells of room in the device";
    EXPECT_GE(shared.device->rx_event(1), 0);
    shared.inside->queues[0].tx_room = 1;
    shared.device->tx_burst(0, {});
    EXPECT_THAT(shared.sent(), ElementsAre(5));
    shared.device->want_rx_event(0, true);
    EXPECT_GE(shared.device->rx_event(0), 0);
    shared.device->want_rx_event(0, false);
}

TEST(SoftwareRss, SharesEachTransmitQueueThatHasAnOwner) {
    Shared shared(4, {2, 3}, 3);
    for (std::uint16_t queue = 0; queue < 4; ++queue) ASSERT_TRUE(shared.send(queue, 0, queue));
    shared.device->tx_burst(2, {});
    shared.device->tx_burst(3, {});
    EXPECT_THAT(shared.sent(0), UnorderedElementsAre(0, 2));
    EXPECT_THAT(shared.sent(1), UnorderedElementsAre(1, 3));
    EXPECT_THAT(shared.sent(2), IsEmpty()) << "of no owner";
}

TEST(SoftwareRss, OneThreadMayOwnAllQueues) {
    Shared shared(3, {1, 1}, 2);
    for (std::uint16_t queue = 0; queue < 3; ++queue) ASSERT_TRUE(shared.send(queue, 0, queue));
    shared.device->tx_burst(1, {});
    EXPECT_THAT(shared.sent(0), UnorderedElementsAre(0, 1, 2)) << "0 and 2, and its own";
    shared.arrive(5, 1, 0);
    shared.arrive(5, 2, 1);
    EXPECT_THAT(shared.receive(1), SizeIs(2)) << "it polls both";
}

TEST(SoftwareRss, TransmitsDirectlyIfTheDeviceHasEnoughQueues) {
    Shared shared(2, {0}, 2);
    ASSERT_TRUE(shared.send(1, 0, 7));
    EXPECT_THAT(shared.sent(1), ElementsAre(7));
    EXPECT_EQ(shared.counter("tx_handed_over"), 0u);
    EXPECT_EQ(shared.device->capabilities().tx_queues, 2);
    EXPECT_EQ(shared.device->capabilities().rx_queues, 2);
}

}  // namespace
}  // namespace verbline::pmd

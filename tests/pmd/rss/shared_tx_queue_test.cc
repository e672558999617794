// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/rss/shared_tx_queue.h"

#include <array>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pmd/rss/devices.h"

namespace verbline::pmd {
namespace {

using test::marked, test::MarkHash;
using ::testing::ElementsAre, ::testing::IsEmpty;

struct SharedTxQueueTest : ::testing::Test {
    void SetUp() override {
        queue.add_source(a);
        queue.add_source(b);
    }
    static void hand_over(HandoverRing& ring, std::uint32_t first, std::uint32_t count) {
        for (auto number = first; number < first + count; ++number) {
            auto* packet = marked(0, number).release();
            ASSERT_EQ(ring.push({&packet, 1}), 1);
        }
    }
    /// Those of the owner's packets that are taken are the first.
    std::uint16_t send(std::uint32_t first, std::uint32_t count) {
        std::vector<rte_mbuf*> own;
        for (auto number = first; number < first + count; ++number) own.push_back(marked(0, number).release());
        const auto taken = queue.send(own);
        for (auto* packet : std::span(own).subspan(taken)) rte_pktmbuf_free(packet);
        return taken;
    }
    /// A burst of packets that are all of this number.
    void send_own(std::uint32_t number) {
        std::array<rte_mbuf*, 32> own;
        for (auto*& packet : own) packet = marked(0, number).release();
        const auto taken = queue.send(own);
        rte_pktmbuf_free_bulk(own.data() + taken, static_cast<unsigned>(own.size() - taken));
    }
    std::vector<std::uint32_t> sent() {
        std::vector<std::uint32_t> numbers;
        for (const auto& packet : device.sent) numbers.push_back(MarkHash::number_of(packet.get()));
        device.sent.clear();
        return numbers;
    }
    void room(std::size_t packets) { device.tx_room = packets; }

    test::FakeNetDevice device;
    HandoverRing a = HandoverRing::create("a", SOCKET_ID_ANY).value();
    HandoverRing b = HandoverRing::create("b", SOCKET_ID_ANY).value();
    SharedTxQueue queue{device, 0};
};

TEST_F(SharedTxQueueTest, SendsWhatIsHandedOverWithoutAnyOfItsOwn) {
    hand_over(a, 0, 3);
    hand_over(b, 10, 2);
    EXPECT_TRUE(queue.pending());
    EXPECT_EQ(queue.send({}), 0);
    EXPECT_THAT(sent(), ElementsAre(0, 1, 2, 10, 11));
    EXPECT_FALSE(queue.pending());
    EXPECT_FALSE(queue.stuck());
}

TEST_F(SharedTxQueueTest, KeepsTheOrderOfWhatIsRefused) {
    hand_over(a, 0, 4);
    hand_over(b, 10, 2);
    room(2);
    EXPECT_EQ(send(20, 2), 0) << "others' packets wait before them";
    EXPECT_THAT(sent(), ElementsAre(0, 1));
    EXPECT_TRUE(queue.stuck());
    hand_over(a, 4, 1);
    room(0);
    EXPECT_EQ(send(20, 2), 0);
    EXPECT_TRUE(queue.stuck());
    room(100);
    EXPECT_EQ(send(20, 2), 2);
    const auto numbers = sent();
    ASSERT_EQ(numbers.size(), 7u);
    EXPECT_THAT(std::span(numbers).first(2), ElementsAre(2, 3)) << "what was refused is first";
    EXPECT_THAT(numbers, ::testing::IsSupersetOf({4u, 10u, 11u, 20u, 21u}));
    EXPECT_FALSE(queue.stuck());
}

TEST_F(SharedTxQueueTest, OffersTheDeviceAnEmptyBurstToo) {
    struct Counting : test::FakeNetDevice {
        std::uint16_t tx_burst(std::uint16_t queue, Burst burst) noexcept override {
            empty_bursts += burst.empty();
            return FakeNetDevice::tx_burst(queue, burst);
        }
        unsigned empty_bursts = 0;
    } counting;
    SharedTxQueue alone(counting, 0);
    EXPECT_EQ(alone.send({}), 0);
    EXPECT_EQ(counting.empty_bursts, 1u) << "it may delay packets";
}

/// All have more to send than the device takes.
TEST_F(SharedTxQueueTest, LetsAllHaveTheirTurnAtAFullDevice) {
    for (const std::size_t at_a_time : {1, 16, 100}) {
        std::array<unsigned, 3> packets_of{};
        for (std::size_t taken = 0; taken < 1000; taken += at_a_time) {
            while (a.room() > 0) hand_over(a, 0, 1);
            while (b.room() > 0) hand_over(b, 1, 1);
            room(at_a_time);
            send_own(2);
            for (const auto number : sent()) ++packets_of[number];
        }
        for (const auto packets : packets_of) EXPECT_GE(packets, 7u) << at_a_time;
    }
}

TEST_F(SharedTxQueueTest, FreesWhatWaitsWhenItGoes) {
    const auto before = rte_mempool_in_use_count(test::packet_pool());
    {
        SharedTxQueue other(device, 0);
        other.add_source(a);
        hand_over(a, 0, 5);
        room(2);
        other.send({});
        EXPECT_TRUE(other.stuck());
    }
    EXPECT_THAT(sent(), ElementsAre(0, 1));
    EXPECT_EQ(rte_mempool_in_use_count(test::packet_pool()), before);
}

}  // namespace
}  // namespace verbline::pmd

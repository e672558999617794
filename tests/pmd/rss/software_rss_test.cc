// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/rss/software_rss.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pmd/base/clock.h"
#include "pmd/base/tunables.h"
#include "pmd/bridge/bridge.h"
#include "pmd/rss/handover_ring.h"
#include "tests/pmd/rss/devices.h"

namespace verbline::pmd {
namespace {

using test::marked, test::MarkHash, test::options_of, test::QueuedDevice, test::Shared;
using ::testing::Each, ::testing::ElementsAre, ::testing::HasSubstr, ::testing::IsEmpty, ::testing::Not,
    ::testing::SizeIs;

constexpr auto ring_capacity = HandoverRing::capacity;
constexpr auto unlimited = std::numeric_limits<std::size_t>::max();

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

TEST(SoftwareRss, SpreadsEvenlyUnlessToldOtherwise) {
    const MarkHash flows;
    auto device =
        SoftwareRss::create(std::make_unique<QueuedDevice>(1, 1), {.queues = 3, .flows = &flows, .owners = {0}});
    ASSERT_TRUE(device);
    const auto rss = (*device)->rss();
    ASSERT_TRUE(rss);
    EXPECT_TRUE(std::ranges::equal(rss->key, flows.bytes));
    EXPECT_THAT(rss->queues, SizeIs(128));
    for (std::uint16_t queue = 0; queue < 3; ++queue) {
        EXPECT_NEAR(static_cast<double>(std::ranges::count(rss->queues, queue)), 128.0 / 3, 1);
    }
}

TEST(SoftwareRss, GivesWhatIsOfNoFlowToTheFirstOwner) {
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

TEST(SoftwareRss, DropsWhatIsForAQueueThatStandsStillAndNothingElse) {
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
    EXPECT_EQ(shared.counter("rx_dropped_handover_full"), rounds * 20 + 120 - ring_capacity);
    std::size_t left = 0;
    while (const auto n = shared.receive(2).size()) left += n;
    EXPECT_EQ(left, ring_capacity);
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
    EXPECT_THAT(shared.inside->queues[0].to_receive, SizeIs(count - ring_capacity)) << "they wait at their sender";
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

TEST(SoftwareRss, ReadsALosslessDeviceForOthersThoughOneStandsStill) {
    Shared shared(3, {0});
    make_lossless(shared, 3);
    constexpr std::uint32_t lost = 10;
    for (std::uint32_t i = 0; i < ring_capacity + lost; ++i) shared.arrive(6, i);  // for queue 2
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
    while (next < ring_capacity) {
        const auto got = shared.receive(2);
        ASSERT_THAT(got, Not(IsEmpty()));
        for (const auto& packet : got) EXPECT_EQ(MarkHash::number_of(packet.get()), next++);
    }
    shared.arrive(6);
    EXPECT_THAT(shared.receive(0), IsEmpty());
    EXPECT_THAT(shared.receive(2), SizeIs(1)) << "it goes on";
    EXPECT_EQ(shared.counter("rx_dropped_handover_full"), lost);
}

TEST(SoftwareRss, SaysWhenItHasTakenPacketsForOthersOnly) {
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

TEST(SoftwareRss, SaysWhenPacketsWaitForItToTransmit) {
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

TEST(SoftwareRss, ABridgeOverItSaysSoToo) {
    const MarkHash flows;
    std::vector<std::unique_ptr<NetDevice>> members;
    std::array<QueuedDevice*, 2> inside{};
    for (auto*& one : inside) {
        auto made = std::make_unique<QueuedDevice>(1, 1);
        one = made.get();
        members.push_back(SoftwareRss::create(std::move(made), options_of(flows, 2, {0})).value());
    }
    const auto bridge = Bridge::create("switch", std::move(members), test::packet_pool(), [] { return Time{0}; });
    ASSERT_TRUE(bridge);
    EXPECT_EQ((*bridge)->capabilities().rx_queues, 2);
    std::array<rte_mbuf*, max_burst> burst;
    inside[1]->queues[0].to_receive.push_back(marked(3));
    EXPECT_EQ((*bridge)->rx_burst(0, burst), 0);
    EXPECT_TRUE((*bridge)->rx_consumed(0));
    EXPECT_EQ((*bridge)->rx_burst(0, burst), 0);
    EXPECT_FALSE((*bridge)->rx_consumed(0));
    std::map<std::string, std::uint64_t, std::less<>> counters;
    (*bridge)->queue_counters(
        0, [&](std::string_view name, std::uint64_t value, std::string_view) { counters.emplace(name, value); });
    EXPECT_EQ(counters["member1_rx_handed_over"], 1u);
    EXPECT_EQ(counters["member0_rx_handed_over"], 0u);
    EXPECT_EQ(counters.count("forwarded"), 1u);
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

TEST(SoftwareRss, RefusesWhatItsRingHasNoRoomFor) {
    Shared shared(2, {0});
    for (std::uint32_t i = 0; i < ring_capacity; ++i) ASSERT_TRUE(shared.send(1, 0, i));
    EXPECT_FALSE(shared.send(1, 0)) << "it stays the sender's";
    std::vector<std::uint32_t> sent;
    for (unsigned i = 0; i < ring_capacity / max_burst; ++i) {
        shared.device->tx_burst(0, {});
        const auto some = shared.sent();
        sent.insert(sent.end(), some.begin(), some.end());
    }
    ASSERT_THAT(sent, SizeIs(ring_capacity));
    EXPECT_TRUE(std::ranges::is_sorted(sent));
    EXPECT_TRUE(shared.send(1, 0));
}

TEST(SoftwareRss, WaitsForADeviceThatIsFullButNotForAThreadThatStandsStill) {
    Shared shared(2, {0});
    shared.inside->queues[0].tx_room = 0;
    std::uint32_t taken = 0;
    const auto fill = [&] {
        while (shared.send(1, 3, taken)) ++taken;
        shared.device->tx_burst(0, {});
    };
    fill(), fill();
    ASSERT_EQ(taken, ring_capacity + max_burst) << "a burst has been offered to the device";
    for (const auto end = monotonic_now() + 2 * tunables::handover_stall; monotonic_now() < end;) {
        shared.device->tx_burst(0, {});
        ASSERT_FALSE(shared.send(1, 3));
    }
    EXPECT_EQ(shared.counter("tx_dropped_handover_full"), 0u);

    const auto start = monotonic_now();
    while (!shared.send(1, 3) && monotonic_now() < start + 10 * second) continue;
    EXPECT_EQ(shared.counter("tx_dropped_handover_full"), 1u);
    shared.inside->queues[0].tx_room = unlimited;
    for (int i = 0; i < 100; ++i) shared.device->tx_burst(0, {});
    EXPECT_TRUE(shared.send(1, 3, taken++));
    shared.device->tx_burst(0, {});
    const auto sent = shared.sent();
    ASSERT_THAT(sent, SizeIs(taken));
    EXPECT_TRUE(std::ranges::is_sorted(sent)) << "what was taken leaves in order";
    EXPECT_EQ(shared.counter("tx_dropped_handover_full"), 1u);
}

TEST(SoftwareRss, IsDeafWhileTheDeviceRefusesPackets) {
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
    EXPECT_THAT(shared.sent(0), ::testing::UnorderedElementsAre(0, 2));
    EXPECT_THAT(shared.sent(1), ::testing::UnorderedElementsAre(1, 3));
    EXPECT_THAT(shared.sent(2), IsEmpty()) << "of no owner";
}

TEST(SoftwareRss, OneMayOwnAllQueues) {
    Shared shared(3, {1, 1}, 2);
    for (std::uint16_t queue = 0; queue < 3; ++queue) ASSERT_TRUE(shared.send(queue, 0, queue));
    shared.device->tx_burst(1, {});
    EXPECT_THAT(shared.sent(0), ::testing::UnorderedElementsAre(0, 1, 2)) << "0 and 2, and its own";
    shared.arrive(5, 1, 0);
    shared.arrive(5, 2, 1);
    EXPECT_THAT(shared.receive(1), SizeIs(2)) << "it polls both";
}

TEST(SoftwareRss, TransmitsStraightThroughIfTheDeviceHasTheQueues) {
    Shared shared(2, {0}, 2);
    ASSERT_TRUE(shared.send(1, 0, 7));
    EXPECT_THAT(shared.sent(1), ElementsAre(7));
    EXPECT_EQ(shared.counter("tx_handed_over"), 0u);
    EXPECT_EQ(shared.device->capabilities().tx_queues, 2);
    EXPECT_EQ(shared.device->capabilities().rx_queues, 2);
}

TEST(SoftwareRss, MakesFewQueuesOfManyToo) {
    Shared shared(1, {0, 0, 0}, 3);
    for (std::uint16_t queue = 0; queue < 3; ++queue) shared.arrive(9, queue, queue);
    EXPECT_THAT(shared.receive(0), SizeIs(3));
    EXPECT_FALSE(shared.device->rx_consumed(0));
    ASSERT_TRUE(shared.send(0, 0, 1));
    EXPECT_THAT(shared.sent(0), ElementsAre(1));
}

TEST(SoftwareRss, LetsNoSourceStarve) {
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

TEST(SoftwareRss, CountsByQueueAndInSum) {
    Shared shared(2, {0});
    shared.arrive(3);
    shared.receive(0);
    shared.receive(1);
    EXPECT_EQ(shared.queue_counter(0, "rx_handed_over"), 1u);
    EXPECT_EQ(shared.queue_counter(1, "rx_handed_over"), 0u);
    EXPECT_EQ(shared.queue_counter(1, "rx_taken_over"), 1u);
    EXPECT_EQ(shared.counter("rx_taken_over"), 1u);
    EXPECT_EQ(shared.counter("fake_counter"), 1u) << "the device's own are shown too";
    EXPECT_EQ(shared.queue_counter(0, "polls"), 1u) << "of the queue that it owns";
    EXPECT_EQ(shared.queue_counter(1, "polls"), ~std::uint64_t{0});
}

TEST(SoftwareRss, ForwardsWhatItDoesNotChange) {
    Shared shared(2, {0});
    EXPECT_EQ(shared.device->name(), "fake");
    EXPECT_TRUE(shared.device->up());
    EXPECT_TRUE(shared.inside->is_up);
    EXPECT_TRUE(shared.device->link_up());
    EXPECT_FALSE(shared.device->set_identity({.pkey = wire::PKey{0x8001}}));
    EXPECT_EQ(shared.inside->identity.pkey, wire::PKey{0x8001});
    shared.device->down();
    EXPECT_FALSE(shared.inside->is_up);
}

TEST(SoftwareRss, FreesWhatWasNotTaken) {
    const auto before = rte_mempool_in_use_count(test::packet_pool());
    {
        Shared shared(2, {0});
        shared.arrive(3);
        shared.receive(0);
        shared.inside->queues[0].tx_room = 0;
        ASSERT_TRUE(shared.send(1, 0));
        shared.device->tx_burst(0, {});
        ASSERT_TRUE(shared.send(1, 0));
        EXPECT_EQ(rte_mempool_in_use_count(test::packet_pool()), before + 3);
    }
    EXPECT_EQ(rte_mempool_in_use_count(test::packet_pool()), before);
}

TEST(SoftwareRss, SaysWhatCannotBe) {
    const MarkHash flows;
    const auto error_of = [&](const SoftwareRssOptions& options, Carries carries = Carries::ethernet) {
        auto inside = std::make_unique<QueuedDevice>(1, 1);
        inside->capabilities().carries = carries;
        const auto device = SoftwareRss::create(std::move(inside), options);
        return device ? "" : device.error().what;
    };
    const SoftwareRssOptions good{.queues = 2, .flows = &flows, .owners = {0}};
    EXPECT_EQ(error_of(good), "");
    EXPECT_EQ(error_of(good, Carries::ip), "");
    EXPECT_EQ(error_of(good, Carries::datagram),
              "device fake: cannot be shared by 2 queues: packets that carry an address each cannot be handed over");
    auto wrong = good;
    wrong.owners = {2};
    EXPECT_THAT(error_of(wrong), HasSubstr("an owner is none of the queues"));
    wrong.owners = {0, 1};
    EXPECT_THAT(error_of(wrong), HasSubstr("2 owners of 1 receive queues"));
    wrong = good;
    wrong.redirection = {0, 1, 0};
    EXPECT_THAT(error_of(wrong), HasSubstr("no power of two"));
    wrong.redirection = {0, 2};
    EXPECT_THAT(error_of(wrong), HasSubstr("names none of the queues"));
    wrong = good;
    wrong.sockets = {0};
    EXPECT_THAT(error_of(wrong), HasSubstr("NUMA nodes of some queues only"));
    wrong = good;
    wrong.flows = nullptr;
    EXPECT_THAT(error_of(wrong), HasSubstr("nothing to spread packets by"));
    wrong = good;
    wrong.queues = 0;
    EXPECT_THAT(error_of(wrong), HasSubstr("nothing to spread packets by, or over"));
}

}  // namespace
}  // namespace verbline::pmd

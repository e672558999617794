// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/impair/impair.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/counter.h"
#include "tests/support/decorator.h"
#include "tests/support/fake_netdev.h"

namespace verbline::pmd {
namespace {

using test::FakeNetDevice;
using test::make_packet;

/// A device whose packets are numbered, behind a bad link.
struct Link {
    explicit Link(const char* spec) : Link(parse_impairments(spec).value()) {}
    explicit Link(const ImpairSpec& spec) {
        auto fake = std::make_unique<FakeNetDevice>();
        inner = fake.get();
        device = std::make_unique<ImpairedDevice>(std::move(fake), spec, [this] { return now; });
    }
    void send(unsigned count, std::size_t size = 60) {
        for (unsigned i = 0; i < count; ++i, ++next) {
            auto* packet = numbered(next, size).release();
            ASSERT_EQ(device->tx_burst(0, std::span(&packet, 1)), 1);
        }
    }
    void flush() { device->tx_burst(0, {}); }
    static test::Packet numbered(unsigned number, std::size_t size) {
        auto bytes = test::pattern(size);
        std::memcpy(bytes.data(), &number, sizeof(number));
        return make_packet(bytes);
    }
    static unsigned number_of(const test::Packet& packet) {
        unsigned number;
        std::memcpy(&number, rte_pktmbuf_mtod(packet.get(), void*), sizeof(number));
        return number;
    }
    std::vector<unsigned> sent() const {
        std::vector<unsigned> numbers;
        for (const auto& packet : inner->sent) numbers.push_back(number_of(packet));
        return numbers;
    }
    std::uint64_t counter(std::string_view wanted) const { return test::counter(*device, wanted); }

    Time now = 0;
    unsigned next = 0;
    FakeNetDevice* inner;
    std::unique_ptr<ImpairedDevice> device;
};

TEST(Impair, AGoodLinkChangesNothing) {
    Link link("");
    link.send(200);
    EXPECT_EQ(link.sent().size(), 200u);
    EXPECT_TRUE(std::ranges::is_sorted(link.sent()));
    EXPECT_EQ(test::bytes_of(link.inner->sent[7]), test::bytes_of(Link::numbered(7, 60)));
    EXPECT_EQ(link.counter("fake_counter"), 1u) << "the device's own counters are shown too";
}

TEST(Impair, AGoodLinkForwardsEveryOperation) {
    test::expect_forwards_everything([](std::unique_ptr<NetDevice> device) {
        return std::make_unique<ImpairedDevice>(std::move(device), ImpairSpec{}, [] { return Time{0}; });
    });
}

TEST(Impair, LosesAtTheConfiguredRate) {
    Link link("tx.loss=0.1");
    link.send(5000);
    EXPECT_NEAR(static_cast<double>(link.counter("tx_impair_lost")), 500, 100);
    EXPECT_EQ(link.sent().size() + link.counter("tx_impair_lost"), 5000u);
    Link all("loss=1");
    all.send(100);
    EXPECT_TRUE(all.sent().empty());
}

TEST(Impair, EqualSeedsMeetEqualFates) {
    const auto fate = [](const char* spec) {
        Link link(spec);
        link.send(500);
        link.now = second;
        link.flush();
        return link.sent();
    };
    const char* spec = "loss=0.1,duplicate=0.1,reorder=0.1,jitter=10us,seed=7";
    EXPECT_EQ(fate(spec), fate(spec));
    EXPECT_NE(fate(spec), fate("loss=0.1,duplicate=0.1,reorder=0.1,jitter=10us,seed=8"));
}

TEST(Impair, DuplicatesAreSeparateCopies) {
    Link link("duplicate=1");
    link.send(10, 3000);
    ASSERT_EQ(link.inner->sent.size(), 20u);
    EXPECT_EQ(link.counter("tx_impair_duplicated"), 10u);
    EXPECT_NE(link.inner->sent[0]->buf_addr, link.inner->sent[1]->buf_addr);
    EXPECT_EQ(test::bytes_of(link.inner->sent[0]), test::bytes_of(link.inner->sent[1]));
}

TEST(Impair, CorruptionFlipsOneBitAnywhere) {
    Link link("corrupt=1");
    std::array<unsigned, 3> thirds{};
    for (unsigned i = 0; i < 300; ++i) {
        auto* packet = make_packet(test::pattern(900), 100).release();
        ASSERT_EQ(link.device->tx_burst(0, std::span(&packet, 1)), 1);
        const auto got = test::bytes_of(link.inner->sent.back());
        unsigned flipped = 0;
        for (std::size_t at = 0; at < got.size(); ++at) {
            const auto difference = static_cast<unsigned>(got[at] ^ test::pattern(900)[at]);
            flipped += static_cast<unsigned>(std::popcount(difference));
            if (difference != 0) ++thirds[at / 300];
        }
        ASSERT_EQ(flipped, 1u);
    }
    for (const auto third : thirds) EXPECT_GT(third, 50u);
}

TEST(Impair, CorruptionCopiesASharedPacket) {
    Link link("corrupt=1");
    const auto mine = make_packet(test::pattern(100));
    rte_mbuf_refcnt_update(mine.get(), 1);
    auto* packet = mine.get();
    ASSERT_EQ(link.device->tx_burst(0, std::span(&packet, 1)), 1);
    EXPECT_EQ(test::bytes_of(mine), test::pattern(100));
    EXPECT_NE(test::bytes_of(link.inner->sent[0]), test::pattern(100));
}

TEST(Impair, DelayHoldsEveryPacketInOrder) {
    Link link("delay=100us");
    link.send(3);
    EXPECT_TRUE(link.sent().empty());
    link.now = 100 * microsecond - 1;
    link.send(1);
    EXPECT_TRUE(link.sent().empty());
    link.now = 100 * microsecond;
    link.flush();
    EXPECT_EQ(link.sent(), (std::vector<unsigned>{0, 1, 2}));
    link.now = 200 * microsecond;
    link.flush();
    EXPECT_EQ(link.sent().size(), 4u);
}

TEST(Impair, JitterStaysWithinItsBounds) {
    Link link("delay=100us,jitter=20us");
    link.send(200);
    link.now = 100 * microsecond - 1;
    link.flush();
    EXPECT_TRUE(link.sent().empty());
    link.now = 110 * microsecond;
    link.flush();
    EXPECT_NEAR(static_cast<double>(link.sent().size()), 100, 40);
    link.now = 120 * microsecond;
    link.flush();
    EXPECT_EQ(link.sent().size(), 200u);
    EXPECT_FALSE(std::ranges::is_sorted(link.sent()));
}

TEST(Impair, AReorderedPacketIsOvertakenButNotLost) {
    Link link("reorder=0.1");
    link.send(100);
    EXPECT_EQ(link.sent().size() + link.counter("tx_impair_reordered"), 100u);
    EXPECT_GT(link.counter("tx_impair_reordered"), 0u);
    link.now = ImpairLane::reorder_hold;
    link.flush();
    auto numbers = link.sent();
    EXPECT_FALSE(std::ranges::is_sorted(numbers));
    std::ranges::sort(numbers);
    for (unsigned i = 0; i < 100; ++i) EXPECT_EQ(numbers[i], i);
}

TEST(Impair, ReceivesThroughTheSameLink) {
    Link link("rx.delay=1ms,rx.loss=0.5");
    for (unsigned i = 0; i < 64; ++i) link.inner->to_receive.push_back(Link::numbered(i, 60));
    std::array<rte_mbuf*, max_burst> burst;
    EXPECT_EQ(link.device->rx_burst(0, burst), 0);
    EXPECT_TRUE(link.inner->to_receive.empty());
    link.now = millisecond;
    const auto n = link.device->rx_burst(0, burst);
    EXPECT_EQ(n + link.counter("rx_impair_lost"), 64u);
    EXPECT_GT(n, 10);
    rte_pktmbuf_free_bulk(burst.data(), n);
}

TEST(Impair, ABusyDeviceKeepsPacketsWaitingInOrder) {
    Link link("");
    link.inner->tx_room = 5;
    link.send(20);
    EXPECT_EQ(link.sent().size(), 5u);
    link.inner->tx_room = 100;
    link.flush();
    EXPECT_EQ(link.sent().size(), 20u);
    EXPECT_TRUE(std::ranges::is_sorted(link.sent()));
}

TEST(Impair, HoldsOnlySoMuch) {
    Link link("delay=60s");
    unsigned taken = 0;
    for (; taken < 100'000; ++taken) {
        auto* packet = Link::numbered(taken, 20).release();
        if (link.device->tx_burst(0, std::span(&packet, 1)) == 1) continue;
        rte_pktmbuf_free(packet);
        break;
    }
    EXPECT_LE(taken, ImpairLane::capacity);
    EXPECT_GT(taken, ImpairLane::capacity - 2 * max_burst - 2);
}

TEST(Impair, WhatIsHeldWhenTheDeviceGoesDownIsCounted) {
    Link link("rx.delay=1ms,tx.delay=1us");
    for (unsigned i = 0; i < 5; ++i) link.inner->to_receive.push_back(Link::numbered(i, 60));
    std::array<rte_mbuf*, max_burst> burst;
    EXPECT_EQ(link.device->rx_burst(0, burst), 0);
    link.inner->tx_room = 0;
    link.send(3);
    link.now = 1 * microsecond;  // due, and without room
    link.flush();
    link.send(4);
    for (int times = 0; times < 2; ++times) {
        link.device->down();
        EXPECT_EQ(link.counter("rx_impair_dropped_down"), 5u);
        EXPECT_EQ(link.counter("tx_impair_dropped_down"), 7u);
    }
}

TEST(Impair, RxConsumedIsTrueWhenAllPacketsAreDropped) {
    Link link("rx.loss=1");
    link.inner->receive(test::pattern(60));
    std::array<rte_mbuf*, 8> burst;
    EXPECT_EQ(link.device->rx_burst(0, burst), 0);
    EXPECT_TRUE(link.device->rx_consumed(0));
    EXPECT_EQ(link.device->rx_burst(0, burst), 0);
    EXPECT_FALSE(link.device->rx_consumed(0));
}

/// A device that can be slept on.
struct Sleepable : FakeNetDevice {
    int rx_event(std::uint16_t queue) const noexcept override { return 70 + queue; }
    void want_rx_event(std::uint16_t, bool on) noexcept override { wanted = on; }
    bool wanted = false;
};

TEST(Impair, CanBeSleptOnUnlessItHoldsPacketsBack) {
    for (const auto& [text, event] :
         {std::pair{"loss=0.1,duplicate=0.1,corrupt=0.1", 71}, std::pair{"rx.delay=1us", -1},
          std::pair{"tx.jitter=1us", -1}, std::pair{"rx.reorder=0.1", -1}}) {
        auto inner = std::make_unique<Sleepable>();
        auto& device = *inner;
        ImpairedDevice impaired(std::move(inner), parse_impairments(text).value(), [] { return Time{0}; });
        EXPECT_EQ(impaired.rx_event(1), event) << text;
        impaired.want_rx_event(0, true);
        EXPECT_TRUE(device.wanted);
    }
}

TEST(Impair, ChangesWhileItIsUsed) {
    Link link("loss=1");
    link.send(10);
    EXPECT_EQ(link.counter("tx_impair_lost"), 10u);
    link.device->set(parse_impairments("delay=1ms").value());
    link.send(10);
    EXPECT_EQ(link.counter("tx_impair_lost"), 10u) << "counted on, and none lost";
    EXPECT_TRUE(link.sent().empty());
    link.device->set({});
    link.send(1);
    EXPECT_EQ(link.sent(), (std::vector{20u})) << "what is delayed already is not sent before its time";
    link.now = millisecond;
    link.flush();
    EXPECT_EQ(link.sent().size(), 11u);
}

TEST(Impair, EqualSeedsMeetEqualFatesAfterAChange) {
    Link changed("loss=0.5,seed=3"), fresh("loss=0.3,seed=9");
    changed.send(50);
    changed.device->set(parse_impairments("loss=0.3,seed=9").value());
    changed.inner->sent.clear();
    changed.next = 0;
    changed.send(100), fresh.send(100);
    EXPECT_EQ(changed.sent(), fresh.sent());
}

TEST(Impair, SettlesWhenItHoldsNoPacketAnyMore) {
    Link link("delay=1ms");
    const auto poll = [&] {
        std::array<rte_mbuf*, max_burst> burst;
        rte_pktmbuf_free_bulk(burst.data(), link.device->rx_burst(0, burst));
        link.flush();
    };
    EXPECT_FALSE(link.device->settled()) << "no queue has followed yet";
    poll();
    EXPECT_TRUE(link.device->settled());
    link.send(1);
    link.inner->receive(test::pattern(60));
    poll();
    link.device->set({});
    poll();
    EXPECT_FALSE(link.device->settled());
    link.now = millisecond;
    link.inner->tx_room = 0;
    poll();
    EXPECT_FALSE(link.device->settled()) << "the device has not taken it";
    link.inner->tx_room = 1;
    poll();
    EXPECT_TRUE(link.device->settled());
}

TEST(Impair, CanBeSleptOnOnceNothingIsHeldBack) {
    auto inner = std::make_unique<Sleepable>();
    auto& device = *inner;
    Time now = 0;
    ImpairedDevice impaired(std::move(inner), parse_impairments("rx.delay=1ms").value(), [&] { return now; });
    std::array<rte_mbuf*, max_burst> burst;
    device.receive(test::pattern(60));
    EXPECT_EQ(impaired.rx_burst(0, burst), 0u);
    impaired.set({});
    EXPECT_EQ(impaired.rx_event(0), -1);
    now = millisecond;
    ASSERT_EQ(impaired.rx_burst(0, burst), 1u);
    rte_pktmbuf_free(burst[0]);
    EXPECT_EQ(impaired.rx_event(0), 70);
    impaired.set(parse_impairments("tx.delay=1ms").value());
    EXPECT_EQ(impaired.rx_event(0), -1);
}

}  // namespace
}  // namespace verbline::pmd

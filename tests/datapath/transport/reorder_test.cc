// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/reorder.h"

#include <array>

#include <gtest/gtest.h>

#include "tests/support/eal.h"
#include "tests/support/packet.h"

namespace verbline::transport {
namespace {

TEST(ReorderWindow, KeepsByPsnAcrossTheWrap) {
    ReorderWindow window;
    const wire::Psn expected(0xfffffe);
    for (const std::uint32_t ahead : {1u, 2u, ReorderWindow::size - 1}) {
        window.put(expected + ahead, {test::make_packet(test::pattern(ahead % 64 + 1)).release(), {}});
    }
    EXPECT_EQ(window.count(), 3u);
    EXPECT_FALSE(window.has(expected));
    EXPECT_TRUE(window.has(expected + 1));
    const auto kept = window.take(expected + 2);
    EXPECT_EQ(kept.mbuf->data_len, 3);
    rte_pktmbuf_free(kept.mbuf);
    EXPECT_FALSE(window.has(expected + 2));
    EXPECT_EQ(window.count(), 2u);
    window.clear();  // the pool's count at the end says whether all are free
    EXPECT_TRUE(window.empty());
    EXPECT_FALSE(window.has(expected + 1));
}

TEST(ReorderPool, LendsAsManyAsItHas) {
    ReorderPool pool(2, 100);
    auto* const a = pool.borrow();
    auto* const b = pool.borrow();
    ASSERT_TRUE(a != nullptr && b != nullptr);
    EXPECT_NE(a, b);
    EXPECT_EQ(pool.borrow(), nullptr);
    pool.give_back(a);
    EXPECT_EQ(pool.borrow(), a);
    pool.give_back(a), pool.give_back(b);
}

TEST(ReorderWindow, GivesUpTheLastFirst) {
    ReorderWindow window;
    const wire::Psn expected(0xfffffe);
    for (const std::uint32_t ahead : {700u, 1u, 3u}) {
        window.put(expected + ahead, {test::make_packet(test::pattern(8)).release(), {}});
    }
    EXPECT_EQ(window.highest(), expected + 700);
    EXPECT_EQ(window.evict(2), 2u);
    EXPECT_TRUE(window.has(expected + 1));
    EXPECT_FALSE(window.has(expected + 3));
    EXPECT_EQ(window.evict(2), 1u) << "there is no more";
    EXPECT_TRUE(window.empty());
    window.put(expected + 2, {test::make_packet(test::pattern(8)).release(), {}});
    EXPECT_EQ(window.highest(), expected + 2);
    window.clear();
}

/// A pool, and windows that keep what it admits.
struct ReorderBudget : testing::Test {
    bool keep(ReorderWindow& window, std::uint32_t psn) {
        if (!pool.admit(window, counters)) return false;
        window.put(wire::Psn(psn), {test::make_packet(test::pattern(8)).release(), {}});
        return true;
    }
    /// Keeps as many as it may; returns how many it did.
    std::uint32_t fill(ReorderWindow& window) {
        const auto before = window.count();
        std::uint32_t psn = 1;
        while (keep(window, psn)) ++psn;
        return window.count() - before;
    }
    std::uint64_t evicted() const { return counters.rx_dropped_reorder_evicted.value(); }

    static constexpr std::uint32_t budget = 120;
    RdmaCounters counters;
    ReorderPool pool{64, budget};
};

TEST_F(ReorderBudget, IsAllForOneWhileNobodyElseNeedsIt) {
    auto* const window = pool.borrow();
    EXPECT_EQ(fill(*window), budget);
    EXPECT_EQ(pool.packets(), budget);
    rte_pktmbuf_free(window->take(wire::Psn(1)).mbuf);
    pool.released(1);
    EXPECT_TRUE(keep(*window, 1));
    pool.give_back(window);
    EXPECT_EQ(pool.packets(), 0u);
    auto* const again = pool.borrow();
    EXPECT_TRUE(again->empty()) << "nobody finds another's packets";
    EXPECT_EQ(evicted(), 0u);
    pool.give_back(again);
}

TEST_F(ReorderBudget, IsSharedFairlyOnceItIsUsedUp) {
    auto* const greedy = pool.borrow();
    fill(*greedy);
    std::array<ReorderWindow*, 3> others{};
    for (auto& other : others) other = pool.borrow();
    constexpr std::uint32_t slack = 16;  // given up at a time
    for (auto* const other : others) {
        EXPECT_GE(fill(*other), budget / 4);
        EXPECT_LE(other->count(), budget / 4 + slack);
    }
    EXPECT_GE(greedy->count(), budget / 4 - slack);
    EXPECT_LE(greedy->count(), budget / 4);
    EXPECT_EQ(pool.packets(), budget);
    EXPECT_GE(evicted(), budget - greedy->count());
    EXPECT_FALSE(greedy->has(wire::Psn(budget))) << "what it would have needed last";
    EXPECT_TRUE(greedy->has(wire::Psn(1)));
    EXPECT_FALSE(greedy->count() == budget / 4 && keep(*greedy, 1000)) << "it has its share";
    for (auto* const each : others) pool.give_back(each);
    pool.give_back(greedy);
}

TEST_F(ReorderBudget, OfNothingLendsNoWindow) {
    ReorderPool none(64, 0);
    EXPECT_EQ(none.borrow(), nullptr);
}

TEST_F(ReorderBudget, IsGivenUpWhereMostIsKept) {
    auto *const greedy = pool.borrow(), *const modest = pool.borrow();
    for (std::uint32_t psn = 1; psn <= 10; ++psn) keep(*modest, psn);
    fill(*greedy);
    pool.evict(20, counters);
    EXPECT_EQ(modest->count(), 10u);
    EXPECT_EQ(pool.packets(), budget - 20);
    EXPECT_EQ(evicted(), 20u);
    pool.evict(1000, counters);  // and in need, all of it
    EXPECT_EQ(pool.packets(), 0u);
    EXPECT_EQ(evicted(), budget);
    pool.give_back(modest), pool.give_back(greedy);
}

}  // namespace
}  // namespace verbline::transport

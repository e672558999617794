// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/reorder.h"

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

TEST(ReorderPool, BoundsThePacketsOfAllWindows) {
    ReorderPool pool(2, 3);
    auto* const a = pool.borrow();
    auto* const b = pool.borrow();
    const auto keep = [&](ReorderWindow& window, std::uint32_t psn) {
        window.put(wire::Psn(psn), {test::make_packet(test::pattern(8)).release(), {}});
        pool.kept();
    };
    keep(*a, 1), keep(*a, 2), keep(*b, 1);
    EXPECT_FALSE(pool.may_keep());
    rte_pktmbuf_free(b->take(wire::Psn(1)).mbuf);
    pool.released();
    EXPECT_TRUE(pool.may_keep());
    keep(*b, 7);
    EXPECT_FALSE(pool.may_keep());
    pool.give_back(a);  // with the two that it keeps
    EXPECT_TRUE(pool.may_keep());
    pool.give_back(b);
    auto* const again = pool.borrow();
    EXPECT_TRUE(again->empty()) << "nobody finds another's packets";
    pool.give_back(again);
}

}  // namespace
}  // namespace verbline::transport

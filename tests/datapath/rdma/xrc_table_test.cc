// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/rdma/xrc_table.h"

#include <set>

#include <gtest/gtest.h>

namespace verbline::rdma {
namespace {

TEST(SrqNumber, IsTheNextOneThatIsFree) {
    std::set<std::uint32_t> numbers{2, 3, 0xff'ffff};
    const auto next = [&](std::uint32_t last) {
        return next_srq_number(last, [&](std::uint32_t number) { return numbers.contains(number); });
    };
    EXPECT_EQ(next(0), 1u);
    EXPECT_EQ(next(1), 4u);
    EXPECT_EQ(next(0xff'fffd), 0xff'fffeu);
    EXPECT_EQ(next(0xff'fffe), 1u) << "24 bits, and never 0";
    numbers.insert(1);
    EXPECT_EQ(next(0xff'fffe), 4u);
    EXPECT_EQ(next_srq_number(7, [](std::uint32_t) { return true; }), std::nullopt);
}

TEST(SrqNumber, OfAMemberOfANodeIsOfItsRange) {
    const link::MemberId member{5};
    const auto first = link::first_qpn(member), last = first + link::member_queue_pairs - 1;
    const auto none_used = [](std::uint32_t) { return false; };
    EXPECT_EQ(next_srq_number(0, none_used, member), first + 1);
    EXPECT_EQ(next_srq_number(first + 1, none_used, member), first + 2);
    EXPECT_EQ(next_srq_number(last, none_used, member), first + 1);
    EXPECT_EQ(next_srq_number(0, [](std::uint32_t) { return true; }, member), std::nullopt);
}

TEST(XrcTable, FindsAQueueByItsNumberInItsDomain) {
    transport::SharedReceiveQueue queue({.requests = 1, .segments = 1});
    queue.xrc_domain = 5, queue.number = 7;
    XrcTable table;
    EXPECT_FALSE(table.contains(7));
    table.add(queue);
    EXPECT_TRUE(table.contains(7));
    EXPECT_EQ(table.find(5, 7), &queue);
    EXPECT_EQ(table.find(6, 7), nullptr);
    EXPECT_EQ(table.find(5, 8), nullptr);
    table.remove(queue);
    EXPECT_EQ(table.find(5, 7), nullptr);
}

}  // namespace
}  // namespace verbline::rdma

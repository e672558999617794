// SPDX-License-Identifier: BSD-3-Clause
// What a route table does with routes for which it has no room.
#include <gtest/gtest.h>

#include "datapath/forward/fib.h"
#include "tests/datapath/forward/fib_fixture.h"

namespace verbline::forward::fibs {
namespace {

TEST_F(FibTest, RunsOutOfNextHopsAndGoesOn) {
    const auto fib = make({.max_next_hops = 3});
    ASSERT_TRUE(fib->replace({ipv4(10, 0, 0, 0), 8}, via(1)));
    ASSERT_TRUE(fib->replace({ipv4(11, 0, 0, 0), 8}, via(2)));
    EXPECT_EQ(code(fib->replace({ipv4(12, 0, 0, 0), 8}, via(3))), ENOSPC);
    EXPECT_EQ(fib->counters().routes_refused_next_hops.value(), 1u);
    ASSERT_TRUE(fib->replace({ipv4(12, 0, 0, 0), 8}, via(2))) << "one that is known takes no room";
    ASSERT_TRUE(fib->remove({ipv4(10, 0, 0, 0), 8}));
    ASSERT_TRUE(fib->replace({ipv4(10, 0, 0, 0), 8}, via(3)));
    EXPECT_EQ(lookup(*fib, ipv4(10, 0, 3, 0)), via(3));
    EXPECT_EQ(lookup(*fib, ipv4(12, 0, 3, 0)), via(2));
}

TEST_F(FibTest, UsesARefusedRouteOnceAnotherMakesRoom) {
    const auto fib = make({.max_routes = 64, .max_long = 64});
    const auto net = [](unsigned n) { return Prefix{Ipv4Address{0x1400'0000 + (n << 8)}, 24}; };
    for (unsigned n = 0; n < 64; ++n) ASSERT_TRUE(fib->replace(net(n), via(1)));
    for (unsigned n = 100; n < 104; ++n) EXPECT_EQ(code(fib->replace(net(n), via(n))), ENOSPC);
    EXPECT_EQ(code(fib->replace(net(101), on_link)), ENOSPC) << "the route changes while there is no room for it";
    ASSERT_TRUE(fib->remove(net(102))) << "it is not wanted any more";
    EXPECT_EQ(fib->refused(), 3u);

    for (const unsigned n : {5u, 6u}) ASSERT_TRUE(fib->remove(net(n)));
    EXPECT_EQ(lookup(*fib, ipv4(20, 0, 100, 1)), via(100));
    EXPECT_EQ(lookup(*fib, ipv4(20, 0, 101, 1)), on_link);
    EXPECT_EQ(lookup(*fib, ipv4(20, 0, 103, 1)).kind, NextHop::Kind::unreachable);
    EXPECT_EQ(fib->size(), 64u);
    EXPECT_EQ(fib->refused(), 1u);
    EXPECT_EQ(fib->counters().routes_refused_full.value(), 5u) << "trying again is no refusal";
    EXPECT_EQ(fib->counters().routes_installed_later.value(), 2u);

    ASSERT_TRUE(fib->remove(net(7)));
    ASSERT_TRUE(fib->remove(net(8)));
    EXPECT_EQ(fib->refused(), 0u);
    EXPECT_EQ(fib->size(), 63u);
}

/// Room of one kind is of no use to a route that needs another.
TEST_F(FibTest, UsesOfRefusedRoutesOneThatFits) {
    const auto fib = make({.max_routes = 64, .max_long = 64, .max_next_hops = 3});
    ASSERT_TRUE(fib->replace({ipv4(10, 0, 0, 0), 8}, via(1)));
    for (unsigned n = 1; n < 64; ++n) ASSERT_TRUE(fib->replace({Ipv4Address{0x1400'0000 + (n << 8)}, 24}, via(2)));
    EXPECT_EQ(code(fib->replace({ipv4(30, 0, 0, 0), 8}, via(3))), ENOSPC);
    EXPECT_EQ(code(fib->replace({ipv4(31, 0, 0, 0), 8}, via(2))), ENOSPC);
    ASSERT_TRUE(fib->remove({ipv4(20, 0, 1, 0), 24}));
    EXPECT_EQ(lookup(*fib, ipv4(31, 0, 0, 1)), via(2));
    EXPECT_EQ(lookup(*fib, ipv4(30, 0, 0, 1)).kind, NextHop::Kind::unreachable) << "too many next hops";

    ASSERT_TRUE(fib->remove({ipv4(10, 0, 0, 0), 8}));
    EXPECT_EQ(fib->waiting(), 1u) << "its next hop's number is free once no shard can hold it";
    fib->advance();
    EXPECT_EQ(fib->waiting(), 0u);
    EXPECT_EQ(lookup(*fib, ipv4(30, 0, 0, 1)), via(3));
    EXPECT_EQ(fib->refused(), 0u);
}

/// Where the kernel has changed a route, packets must not go on to the next hop that it had before.
TEST_F(FibTest, ARouteWhoseChangeIsRefusedLeadsNowhere) {
    const auto fib = make({.max_next_hops = 3});
    ASSERT_TRUE(fib->replace({ipv4(10, 0, 0, 0), 8}, via(1)));
    ASSERT_TRUE(fib->replace({ipv4(10, 1, 0, 0), 16}, via(2)));
    ASSERT_TRUE(fib->replace({ipv4(11, 0, 0, 0), 8}, via(2)));
    EXPECT_EQ(code(fib->replace({ipv4(10, 1, 0, 0), 16}, via(3))), ENOSPC);
    EXPECT_EQ(lookup(*fib, ipv4(10, 1, 0, 1)), via(1)) << "as without it";
    EXPECT_EQ(fib->refused(), 1u);
    EXPECT_EQ(fib->size(), 2u);

    ASSERT_TRUE(fib->remove({ipv4(11, 0, 0, 0), 8}));
    fib->advance();
    EXPECT_EQ(lookup(*fib, ipv4(10, 1, 0, 1)), via(3));
    EXPECT_EQ(fib->refused(), 0u);
}

/// Its own next hop's number is the room that the change needs.
TEST_F(FibTest, ARouteChangesThoughAllNextHopsAreTaken) {
    const auto fib = make({.max_next_hops = 3});
    ASSERT_TRUE(fib->replace({ipv4(10, 0, 0, 0), 8}, via(1)));
    ASSERT_TRUE(fib->replace({ipv4(11, 0, 0, 0), 8}, via(2)));
    EXPECT_EQ(code(fib->replace({ipv4(11, 0, 0, 0), 8}, via(3))), ENOSPC);
    EXPECT_EQ(fib->waiting(), 1u);
    fib->advance();
    EXPECT_EQ(lookup(*fib, ipv4(11, 0, 0, 1)), via(3));
    EXPECT_EQ(fib->refused(), 0u);
    EXPECT_EQ(fib->waiting(), 0u);
}

TEST_F(FibTest, RunsOutOfLongPrefixesAndGoesOn) {
    const auto fib = make({.max_long = 64});
    const auto host = [](unsigned n) { return Prefix{ipv4(10, 0, n, 1), 32}; };
    for (unsigned n = 0; n < 64; ++n) ASSERT_TRUE(fib->replace(host(n), via(n)));
    EXPECT_EQ(code(fib->replace(host(64), local)), ENOSPC);
    EXPECT_EQ(fib->counters().routes_refused_long.value(), 1u);
    EXPECT_EQ(fib->counters().routes_refused_full.value(), 0u);
    EXPECT_EQ(lookup(*fib, ipv4(10, 0, 64, 1)).kind, NextHop::Kind::unreachable);
    ASSERT_TRUE(fib->remove(host(7)));
    ASSERT_TRUE(fib->replace(host(64), local));
    EXPECT_EQ(lookup(*fib, ipv4(10, 0, 64, 1)), local);
    EXPECT_EQ(lookup(*fib, ipv4(10, 0, 7, 1)).kind, NextHop::Kind::unreachable);
    EXPECT_EQ(lookup(*fib, ipv4(10, 0, 63, 1)), via(63));
}

TEST_F(FibTest, TakesExactlyAsManyRoutesAsItMay) {
    const auto fib = make({.max_routes = 1'000, .max_long = 64});
    const auto net = [](unsigned n) { return Prefix{Ipv4Address{0x1400'0000 + (n << 8)}, 24}; };
    for (unsigned n = 0; n < 1'000; ++n) ASSERT_TRUE(fib->replace(net(n), via(1))) << n;
    EXPECT_EQ(code(fib->replace(net(1'000), via(1))), ENOSPC);
    EXPECT_EQ(fib->counters().routes_refused_full.value(), 1u);
    EXPECT_EQ(fib->size(), 1'000u);
    ASSERT_TRUE(fib->replace(net(7), via(2))) << "a known one changes";
    ASSERT_TRUE(fib->remove(net(8)));
    ASSERT_TRUE(fib->replace(net(1'000), via(1))) << "there is room again";
}

}  // namespace
}  // namespace verbline::forward::fibs

// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/table_limits.h"

#include <gtest/gtest.h>

namespace verbline::gateway {
namespace {

TEST(GatewayLimits, TablesAreAsLargeAsTheyWereByDefault) {
    const auto ipv4 = fib_config({});
    EXPECT_EQ(ipv4.max_routes, 16'384u);
    EXPECT_EQ(ipv4.max_long, forward::Fib::Config{}.max_long);
    EXPECT_EQ(ipv4.max_next_hops, 4'096u);
    const auto ipv6 = ipv6_fib_config({});
    EXPECT_EQ(ipv6.max_routes, 16'384u);
    EXPECT_EQ(ipv6.max_long, forward::Ipv6Fib::Config{}.max_long);
    EXPECT_EQ(Limits{}.neighbours, 4'096u);
    EXPECT_EQ(memory_mb({}), 512u);
}

TEST(GatewayLimits, LongerPrefixesGetRoomWithTheRoutes) {
    EXPECT_EQ(fib_config({.routes = 65'536}).max_long, 4'096u);
    EXPECT_EQ(fib_config({.routes = 100'000}).max_long % 64, 0u);
    EXPECT_EQ(fib_config(largest_limits).max_long, 32'704u) << "so many fit entries of 2 bytes";
    EXPECT_EQ(fib_config(smallest_limits).max_long, 1'024u);
    EXPECT_GE(ipv6_fib_config({.routes_ipv6 = 20'000}).max_long, 100'000u) << "five for each /64";
}

TEST(GatewayLimits, NumbersOfNextHopsAndGroupsFitTheTables) {
    const auto config = fib_config(largest_limits);
    EXPECT_LE(config.max_next_hops + config.max_groups, 1 << 15);
}

TEST(GatewayLimits, MemoryGrowsWithTheTables) {
    EXPECT_EQ(memory_mb(smallest_limits), 512u) << "never less";
    EXPECT_GT(memory_mb({.routes = 1'000'000}), 512u + 700u);
    EXPECT_GT(memory_mb({.routes_ipv6 = 100'000}), memory_mb({.routes_ipv6 = 50'000}));
    EXPECT_EQ(memory_mb({.neighbours = 100'000}), 512u) << "these are not DPDK's";
}

TEST(GatewayLimits, APortKnowsAsManyNeighboursAsTheShards) {
    EXPECT_EQ(port_neighbours({}), 65'536u);
    EXPECT_EQ(port_neighbours({.neighbours = 100'000}), 100'000u);
}

}  // namespace
}  // namespace verbline::gateway

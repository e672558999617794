// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/placement.h"

#include <array>

#include <gtest/gtest.h>

#include "pmd/netdev.h"

namespace verbline::gateway {
namespace {

using Warnings = std::vector<std::string>;
constexpr int any = pmd::any_numa_socket;

TEST(Placement, OneSocketIsRightForEverything) {
    const std::array shards{0, 0};
    const std::array ports{PlacedPort{"lan", 0}, PlacedPort{"ib0", any}};
    EXPECT_EQ(placement_warnings(shards, ports), (Warnings{"", ""}));
}

TEST(Placement, WhatHasNoSocketIsServedFromAnywhere) {
    const std::array shards{any, 0, 1};
    const std::array ports{PlacedPort{"lan", any}};
    EXPECT_EQ(placement_warnings(shards, ports), (Warnings{"", "", ""}));
    const std::array floating{any};
    const std::array nics{PlacedPort{"lan", 0}, PlacedPort{"wan", 1}};
    EXPECT_EQ(placement_warnings(floating, nics), Warnings{""});
}

TEST(Placement, WarnsOfPortsOnOtherSocketsThanTheShards) {
    const std::array shards{0, 1, 3};
    const std::array ports{PlacedPort{"lan", 1}, PlacedPort{"ib0", 0}, PlacedPort{"tap", any}};
    EXPECT_EQ(placement_warnings(shards, ports),
              (Warnings{"port lan (socket 1) is served from socket 0", "port ib0 (socket 0) is served from socket 1",
                        "port lan (socket 1) is served from socket 3; port ib0 (socket 0) is served from socket 3"}));
}

TEST(Placement, WithoutPortsThereIsNothingToSay) {
    const std::array shards{0, 1};
    EXPECT_EQ(placement_warnings(shards, {}), (Warnings{"", ""}));
}

using Pools = std::vector<PoolPlacement::Pool>;
using Shares = std::vector<std::size_t>;

TEST(PoolPlacement, AShardTakesItsPacketsFromItsOwnSocket) {
    const std::array one{0};
    EXPECT_EQ(place_pools(one), (PoolPlacement{Pools{{0, 1}}, Shares{0}}));
    const std::array even{0, 0, 1, 1};
    EXPECT_EQ(place_pools(even), (PoolPlacement{Pools{{0, 2}, {1, 2}}, Shares{0, 0, 1, 1}}));
    const std::array mixed{1, 0, 3, 1, 1};
    EXPECT_EQ(place_pools(mixed), (PoolPlacement{Pools{{1, 3}, {0, 1}, {3, 1}}, Shares{0, 1, 2, 0, 0}}));
}

TEST(PoolPlacement, ShardsThatMayRunAnywhereShareOnePool) {
    const std::array shards{any, 1, any};
    EXPECT_EQ(place_pools(shards), (PoolPlacement{Pools{{any, 2}, {1, 1}}, Shares{0, 1, 0}}));
}

}  // namespace
}  // namespace verbline::gateway

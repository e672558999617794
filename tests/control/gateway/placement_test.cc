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

}  // namespace
}  // namespace verbline::gateway

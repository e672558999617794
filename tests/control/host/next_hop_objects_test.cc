// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/next_hop_objects.h"

#include <gtest/gtest.h>

#include "tests/support/ipv6.h"

namespace verbline::host {
namespace {

using test::ipv6;
using wire::ipv4, wire::Ipv4Address, wire::Ipv6Address;
using Ids = std::set<std::uint32_t>;

const NextHopObject by_ipv4{.id = 1, .hop = {.ifindex = 3, .gateway = ipv4(10, 1, 0, 2)}};
const NextHopObject by_ipv6{.id = 2, .hop = {.ifindex = 4, .ipv6_gateway = ipv6("fe80::2")}};
const NextHopObject both{.id = 9, .group = {{1, 3}, {2, 1}}};

struct KnownObjects : testing::Test {
    NextHopObjects objects;
    KnownObjects() {
        for (const auto& object : {by_ipv4, by_ipv6, both}) EXPECT_TRUE(objects.set(object));
    }
};

TEST_F(KnownObjects, AreHopsOfRoutes) {
    EXPECT_EQ(objects.hops<Ipv4Address>(1), (std::vector{Hop{.ifindex = 3, .gateway = ipv4(10, 1, 0, 2)}}));
    EXPECT_EQ(objects.hops<Ipv4Address>(2), (std::vector{Hop{.ifindex = 4, .ipv6_gateway = ipv6("fe80::2")}}));
    EXPECT_EQ(objects.hops<Ipv6Address>(2), (std::vector{Ipv6Hop{.ifindex = 4, .gateway = ipv6("fe80::2")}}));
    EXPECT_TRUE(objects.hops<Ipv6Address>(1).empty()) << "an IPv4 gateway is none for IPv6";
    EXPECT_TRUE(objects.hops<Ipv4Address>(77).empty()) << "not known";
}

TEST_F(KnownObjects, AreMembersOfGroups) {
    EXPECT_EQ(objects.hops<Ipv4Address>(9), (std::vector{Hop{.ifindex = 3, .gateway = ipv4(10, 1, 0, 2), .weight = 3},
                                                         Hop{.ifindex = 4, .ipv6_gateway = ipv6("fe80::2")}}));
    EXPECT_TRUE(objects.remove(1));
    EXPECT_EQ(objects.hops<Ipv4Address>(9).size(), 1u) << "of a member that is gone nothing is left";
    EXPECT_FALSE(objects.remove(1));
    EXPECT_EQ(objects.affected_by(2), (Ids{2, 9}));
    EXPECT_EQ(objects.affected_by(9), (Ids{9}));
}

TEST_F(KnownObjects, ChangeOnlyIfTheyDiffer) {
    EXPECT_FALSE(objects.set(both));
    auto other = both;
    other.group[0].weight = 1;
    EXPECT_TRUE(objects.set(other));
    EXPECT_EQ(objects.hops<Ipv4Address>(9).front().weight, 1u);
}

TEST_F(KnownObjects, MayBeHoles) {
    objects.set({.id = 5, .blackhole = true});
    objects.set({.id = 6, .group = {{5, 1}}});
    EXPECT_TRUE(objects.is_blackhole(5));
    EXPECT_TRUE(objects.is_blackhole(6)) << "as the only member of a group";
    EXPECT_FALSE(objects.is_blackhole(9) || objects.is_blackhole(1) || objects.is_blackhole(77));
    EXPECT_TRUE(objects.hops<Ipv4Address>(5).empty());
}

}  // namespace
}  // namespace verbline::host

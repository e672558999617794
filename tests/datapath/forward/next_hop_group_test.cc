// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/forward/next_hop_group.h"

#include <gtest/gtest.h>

namespace verbline::forward {
namespace {

using Member = NextHopGroup::Member;

NextHop via(unsigned n) {
    return {NextHopKind::via, InterfaceId{1}, wire::ipv4(10, 0, 0, n)};
}

TEST(NextHopGroup, OfOneIsItsNextHop) {
    const NextHopGroup group = via(1);
    ASSERT_NE(group.alone(), nullptr);
    EXPECT_EQ(*group.alone(), via(1));
    ASSERT_EQ(group.members().size(), 1u);
    EXPECT_EQ(group.members()[0].hop, via(1));
    EXPECT_EQ(group, NextHopGroup(std::vector{Member{via(1), 7}})) << "whatever its weight";
    EXPECT_EQ(group, NextHopGroup(std::vector{Member{via(1)}, Member{via(1), 2}}));
    EXPECT_EQ(NextHopGroup(), NextHopGroup(NextHop{})) << "unreachable";
    EXPECT_EQ(NextHopGroup(std::vector<Member>{}), NextHopGroup());
}

TEST(NextHopGroup, IsTheSameInAnyOrder) {
    const NextHopGroup group(std::vector{Member{via(1), 3}, Member{via(2)}});
    EXPECT_EQ(group.alone(), nullptr);
    EXPECT_EQ(group, NextHopGroup(std::vector{Member{via(2)}, Member{via(1), 3}}));
    EXPECT_EQ(group, NextHopGroup(std::vector{Member{via(1), 2}, Member{via(2)}, Member{via(1)}})) << "weights add up";
    EXPECT_NE(group, NextHopGroup(std::vector{Member{via(1)}, Member{via(2)}}));
    EXPECT_NE(group, NextHopGroup(via(1)));
}

TEST(NextHopGroup, HasALimitedNumberOfMembers) {
    std::vector<Member> many;
    for (unsigned i = 0; i < 100; ++i) many.push_back({via(i)});
    EXPECT_EQ(NextHopGroup(many).members().size(), NextHopGroup::max_members);
}

}  // namespace
}  // namespace verbline::forward

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/forward/group_table.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

namespace verbline::forward::group_table {
namespace {

using Group = NextHopGroup;

NextHop via(unsigned n) {
    return {NextHopKind::via, InterfaceId{static_cast<std::uint16_t>(n % 3)}, wire::ipv4(10, 0, 0, n)};
}
Group group_of(std::initializer_list<unsigned> gateways) {
    std::vector<Group::Member> members;
    for (const auto n : gateways) members.push_back({via(n)});
    return Group(std::move(members));
}

struct GroupTableTest : testing::Test {
    NextHopTable<wire::Ipv4Address> hops{8};
    GroupTable<wire::Ipv4Address> groups{hops, 8, 2};
    using Index = GroupTable<wire::Ipv4Address>::Index;

    /// What a flow of this hash takes.
    NextHop taken(Index group, std::uint32_t hash) const { return hops.at(groups.member(group, hash)); }
    std::map<NextHop, unsigned> shares(Index group) const {
        std::map<NextHop, unsigned> out;
        for (std::uint32_t i = 0; i < 256; ++i) ++out[taken(group, i << 24)];
        return out;
    }
    unsigned moved(Index from, Index to) const {
        unsigned n = 0;
        for (std::uint32_t i = 0; i < 256; ++i) n += taken(from, i << 24) != taken(to, i << 24) ? 1 : 0;
        return n;
    }
};

TEST_F(GroupTableTest, TellsGroupsFromNextHops) {
    EXPECT_FALSE(groups.any());
    const auto hop = hops.acquire(via(1));
    const auto group = groups.acquire(group_of({1, 2}), std::nullopt);
    ASSERT_TRUE(hop && group);
    EXPECT_TRUE(groups.any());
    EXPECT_FALSE(groups.holds(*hop));
    EXPECT_TRUE(groups.holds(*group));
    EXPECT_EQ(groups.at(*group), group_of({1, 2}));
    EXPECT_EQ(std::ranges::count(groups.members(*group), *hop), 1) << "a member is a next hop as any";
    EXPECT_EQ(groups.members(*group).size(), 2u);
}

TEST_F(GroupTableTest, SharesFlowsByWeight) {
    const auto group = groups.acquire(Group(std::vector{Group::Member{via(1), 3}, Group::Member{via(2)}}), {});
    ASSERT_TRUE(group);
    EXPECT_EQ(shares(*group), (std::map<NextHop, unsigned>{{via(1), 192}, {via(2), 64}}));
    EXPECT_EQ(taken(*group, 0x1200'0000), taken(*group, 0x12ff'ffff)) << "the lower bits have chosen the shard";
}

TEST_F(GroupTableTest, MovesFewFlowsWhenAMemberGoesOrComes) {
    const auto three = groups.acquire(group_of({1, 2, 3}), {});
    const auto two = groups.acquire(group_of({1, 3}), three);
    ASSERT_TRUE(three && two);
    EXPECT_EQ(moved(*three, *two), shares(*three)[via(2)]);
    groups.release(*three);
    groups.recycle();
    const auto again = groups.acquire(group_of({1, 2, 3}), two);
    ASSERT_TRUE(again);
    EXPECT_EQ(moved(*two, *again), shares(*again)[via(2)]);
}

TEST_F(GroupTableTest, MovesFewFlowsWhenASecondHopComes) {
    const auto alone = hops.acquire(via(1));
    const auto two = groups.acquire(group_of({1, 2}), alone);
    ASSERT_TRUE(two);
    EXPECT_EQ(shares(*two), (std::map<NextHop, unsigned>{{via(1), 128}, {via(2), 128}}));
}

TEST_F(GroupTableTest, KeepsToAnInterfaceIfToldAndItCan) {
    const auto group = groups.acquire(group_of({1, 2, 4}), {});  // interfaces 1, 2, 1
    ASSERT_TRUE(group);
    std::set<NextHop> taken_there;
    for (std::uint32_t i = 0; i < 256; ++i) {
        const auto& hop = hops.at(groups.member_on(InterfaceId{1}, *group, i << 24));
        EXPECT_EQ(hop.interface, InterfaceId{1});
        taken_there.insert(hop);
        if (taken(*group, i << 24).interface == InterfaceId{1}) {
            EXPECT_EQ(hop, taken(*group, i << 24));
        }
        EXPECT_EQ(groups.member_on(InterfaceId{0}, *group, i << 24), groups.member(*group, i << 24)) << "none is there";
    }
    EXPECT_EQ(taken_there, (std::set{via(1), via(4)}));
}

TEST_F(GroupTableTest, StoresEachGroupOnceAndForgetsItWithItsLastReference) {
    const auto first = groups.acquire(group_of({1, 2}), {}), second = groups.acquire(group_of({2, 1}), {});
    EXPECT_EQ(first, second);
    groups.release(*first);
    EXPECT_EQ(groups.size(), 1u);
    groups.release(*second);
    EXPECT_EQ(groups.size(), 0u);
    EXPECT_EQ(hops.size(), 1u) << "its members go with it";
    EXPECT_TRUE(groups.any()) << "a reader may still hold its number";
    groups.recycle();
    EXPECT_FALSE(groups.any());
}

TEST_F(GroupTableTest, RunsOutOfRoomAndGoesOn) {
    ASSERT_TRUE(groups.acquire(group_of({1, 2}), {}));
    const auto second = groups.acquire(group_of({1, 3}), {});
    ASSERT_TRUE(second);
    EXPECT_FALSE(groups.acquire(group_of({2, 3}), {})) << "two groups";
    groups.release(*second);
    groups.recycle(), hops.recycle();
    EXPECT_FALSE(groups.acquire(group_of({1, 2, 3, 4, 5, 6, 7, 8}), {})) << "seven next hops";
    hops.recycle();
    EXPECT_EQ(hops.size(), 3u) << "those of the first group";
    EXPECT_TRUE(groups.acquire(group_of({1, 2, 3, 4, 5, 6, 7}), {}));
}

}  // namespace
}  // namespace verbline::forward::group_table

// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>

#include <gtest/gtest.h>

#include "control/hub/registry.h"
#include "datapath/wire/text.h"
#include "tests/control/hub/address.h"

namespace verbline::hub {
namespace {

struct DirectLinksTest : ::testing::Test {
    LaneId join(uid_t user = 1000, bool direct = true, std::vector<InterfaceAddress> addresses = {}) {
        return registry
            .join({.mac = {}, .addresses = std::move(addresses), .program = "p", .direct = direct}, {1, user})
            .value();
    }
    wire::MacAddress mac(LaneId lane) const { return registry.tenant(lane).mac; }
    /// 0, or why not.
    int link(LaneId asker, LaneId peer) {
        const auto linked = registry.link_directly(asker, {mac(peer)});
        return linked ? 0 : linked.error();
    }

    Registry registry{
        {.name = "lab",
         .subnets = default_subnets(),
         .max_direct = 2,
         .routers = {address("10.99.0.9/16").gid, *wire::from_string<wire::Gid>("fe80::476:aff:fe01:1")}}};
    const LaneId one = join(), two = join(), three = join(), four = join();
};

TEST_F(DirectLinksTest, LinksTwoLanesOfOneUser) {
    const auto granted = registry.link_directly(one, {mac(two)});
    ASSERT_TRUE(granted);
    const auto& linked = registry.direct_links().at(*granted);
    EXPECT_EQ(linked.asker, one);
    EXPECT_EQ(linked.peer, two);
    EXPECT_EQ(registry.direct_links(one), 1u);
    EXPECT_EQ(registry.direct_links(two), 1u);
    EXPECT_EQ(registry.direct_links(three), 0u);
}

TEST_F(DirectLinksTest, SimultaneousRequestsMakeOneLink) {
    EXPECT_EQ(link(one, two), 0);
    EXPECT_EQ(link(two, one), EALREADY);
    EXPECT_EQ(link(one, two), EALREADY);
    EXPECT_EQ(registry.direct_links().size(), 1u);
}

TEST_F(DirectLinksTest, ToAnotherUsersLaneAreRefused) {
    EXPECT_EQ(link(one, join(1001)), EPERM);
    EXPECT_EQ(link(join(65534), join(65534)), EPERM) << "users that this one's namespace knows nothing of";
}

TEST_F(DirectLinksTest, RoutersHaveNone) {
    const auto router = join(1000, true, {address("10.99.0.9/16")});
    const auto by_link_local = join(1000, true, {address("10.1.0.1/16")});
    EXPECT_EQ(link(one, router), EPERM);
    EXPECT_EQ(link(router, one), EPERM);
    EXPECT_EQ(link(one, by_link_local), EPERM);
}

TEST_F(DirectLinksTest, LanesWithoutSupportAreRefused) {
    const auto plain = join(1000, false);
    EXPECT_EQ(link(one, plain), EOPNOTSUPP);
    EXPECT_EQ(link(plain, one), EOPNOTSUPP);
}

TEST_F(DirectLinksTest, RefusesOwnAndUnknownMac) {
    EXPECT_EQ(link(one, one), ENOENT);
    const auto nobody = registry.link_directly(one, {*wire::from_string<wire::MacAddress>("02:00:00:00:00:01")});
    EXPECT_EQ(nobody.error(), ENOENT);
}

TEST_F(DirectLinksTest, LinksPerLaneAreBounded) {
    EXPECT_EQ(link(one, two), 0);
    EXPECT_EQ(link(three, one), 0);
    EXPECT_EQ(link(one, four), EDQUOT);
    EXPECT_EQ(link(four, one), EDQUOT) << "whoever asks";
    EXPECT_EQ(link(two, four), 0);
}

TEST_F(DirectLinksTest, CanBeDisabledByConfiguration) {
    Registry plain{{.name = "lab", .subnets = default_subnets(), .max_direct = 0}};
    const auto a = plain.join({.direct = true}, {1, 0}).value(), b = plain.join({.direct = true}, {1, 0}).value();
    EXPECT_EQ(plain.link_directly(a, {plain.tenant(b).mac}).error(), EOPNOTSUPP);
}

TEST_F(DirectLinksTest, OnlyItsTwoLanesMayEndALink) {
    const auto first = registry.link_directly(one, {mac(two)}).value();
    registry.end_direct(three, first);
    EXPECT_EQ(registry.direct_links().size(), 1u);
    registry.end_direct(two, first);
    EXPECT_TRUE(registry.direct_links().empty());
    const auto next = registry.link_directly(two, {mac(one)}).value();
    EXPECT_NE(next, first);
    registry.end_direct(one, first);  // late, of the link before
    EXPECT_EQ(registry.direct_links().size(), 1u);
}

TEST_F(DirectLinksTest, AUserHasAQuota) {
    Registry small{{.name = "lab", .subnets = default_subnets(), .owner = 1000, .quotas = {.user_direct = 1}}};
    const auto join_as = [&](uid_t user) {
        return small.join({.mac = {}, .addresses = {}, .program = "p", .direct = true}, {1, user}).value();
    };
    const auto link_in = [&](LaneId asker, LaneId peer) {
        return small.link_directly(asker, {small.tenant(peer).mac});
    };
    const auto first = join_as(1001), second = join_as(1001), third = join_as(1001);
    const auto linked = link_in(first, second);
    ASSERT_TRUE(linked);
    EXPECT_EQ(link_in(first, third), std::unexpected(EDQUOT));
    EXPECT_EQ(small.refusals().quota_direct.value(), 1u);
    EXPECT_TRUE(link_in(join_as(1000), join_as(1000))) << "of another user";
    small.end_direct(first, *linked);
    EXPECT_TRUE(link_in(first, third));
}

TEST_F(DirectLinksTest, TheyEndWithEitherLane) {
    EXPECT_EQ(link(one, two), 0);
    EXPECT_EQ(link(three, one), 0);
    EXPECT_EQ(link(two, four), 0);
    registry.leave(one);
    EXPECT_EQ(registry.direct_links().size(), 1u);
    EXPECT_EQ(link(two, three), 0) << "those of others are none the worse, and nothing counts that is gone";
}

}  // namespace
}  // namespace verbline::hub

// SPDX-License-Identifier: BSD-3-Clause
// The mirror of IPv6 routes: what differs from IPv4's (route_mirror_test.cc).
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <linux/rtnetlink.h>

#include <gtest/gtest.h>

#include "control/host/route_mirror.h"
#include "datapath/forward/next_hop_group.h"
#include "tests/support/ipv6.h"

namespace verbline::host {
namespace {

using forward::InterfaceId;
using forward::NextHop;
using test::ipv6;
using wire::ipv4;

constexpr int first_link = 3, second_link = 4;
constexpr InterfaceId first_id{0}, second_id{1};

/// IPv6 routes; the rules are IPv4's, except for routes of several hops.
struct MirroredIpv6Routes : testing::Test {
    Ipv6RouteMirror mirror;
    std::optional<forward::Ipv6NextHopGroup> used;

    MirroredIpv6Routes() {
        hear(Synced{});
        play(mirror.attach(first_link, first_id));
        play(mirror.attach(second_link, second_id));
        for (const int ifindex : {first_link, second_link}) hear(LinkChanged{{.ifindex = ifindex, .up = true}});
    }
    void play(const Ipv6RouteMirror::Actions& actions) {
        for (const auto& action : actions) {
            const auto* set = std::get_if<Ipv6RouteMirror::Set>(&action);
            used = set != nullptr ? std::optional(set->next_hops) : std::nullopt;
        }
    }
    void hear(const KernelEvent& event) { play(mirror.received(event)); }
    static Ipv6Route over(std::vector<Ipv6Hop> hops) {
        return {.prefix = {ipv6("fd76:5::"), 32}, .metric = 1024, .hops = std::move(hops)};
    }
};
const Ipv6Hop over_first{.ifindex = first_link, .gateway = ipv6("fe80::a")},
    over_second{.ifindex = second_link, .gateway = ipv6("fe80::b")};
const forward::Ipv6NextHop by_first{NextHop::Kind::via, first_id, ipv6("fe80::a")},
    by_second{NextHop::Kind::via, second_id, ipv6("fe80::b")};
forward::Ipv6NextHopGroup by_both(std::uint32_t weight_of_first = 1) {
    using Members = std::vector<forward::Ipv6NextHopGroup::Member>;
    return forward::Ipv6NextHopGroup(Members{{by_first, weight_of_first}, {by_second}});
}

TEST_F(MirroredIpv6Routes, FollowRoutes) {
    hear(RouteAdded{{.prefix = {ipv4(10, 5, 0, 0), 16}, .hops = {{.ifindex = first_link}}}});
    EXPECT_FALSE(used) << "of the other family";
    hear(Ipv6RouteAdded{over({over_first})});
    EXPECT_EQ(used, by_first);
    hear(LinkChanged{{.ifindex = first_link, .up = false}});
    EXPECT_FALSE(used);
    hear(LinkChanged{{.ifindex = first_link, .up = true}});
    EXPECT_EQ(used, by_first);
    hear(Ipv6RouteRemoved{over({over_first})});
    EXPECT_FALSE(used);
}

TEST_F(MirroredIpv6Routes, AreAsManyAsTheirHops) {
    hear(Ipv6RouteAdded{over({over_first})});
    hear(Ipv6RouteAdded{over({over_first, over_second}), Place::last});
    EXPECT_EQ(used, by_both());
    hear(Ipv6RouteRemoved{over({over_first})});
    EXPECT_EQ(used, by_second) << "the kernel tells of the hop alone";
    hear(Ipv6RouteAdded{over({over_second, over_first}), Place::last});
    hear(Ipv6RouteRemoved{over({over_second, over_first})});
    EXPECT_FALSE(used) << "and of all at once";
}

TEST_F(MirroredIpv6Routes, ShareByWeight) {
    auto heavy = over_first;
    heavy.weight = 3;
    hear(Ipv6RouteAdded{over({heavy, over_second})});
    EXPECT_EQ(used, by_both(3));
    hear(Ipv6RouteRemoved{over({over_first})});
    EXPECT_EQ(used, by_second) << "of a hop alone the kernel does not tell the weight";
}

TEST_F(MirroredIpv6Routes, ShareIfTheyAreOfOneMetricAndHaveGateways) {
    hear(Ipv6RouteAdded{over({over_first})});
    auto other = over({over_second});
    other.protocol = RTPROT_BGP;
    hear(Ipv6RouteAdded{other, Place::last});
    EXPECT_EQ(used, by_both()) << "whoever added them";
    hear(Ipv6RouteRemoved{other});
    other.metric += 1;
    hear(Ipv6RouteAdded{other, Place::last});
    EXPECT_EQ(used, by_first);
    hear(Ipv6RouteAdded{over({{.ifindex = second_link}}), Place::last});
    EXPECT_EQ(used, by_first) << "one that has no gateway is an alternative";
    auto advertised = over({over_second});
    advertised.protocol = RTPROT_RA;
    hear(Ipv6RouteAdded{advertised, Place::last});
    EXPECT_EQ(used, by_first) << "and so is another router's";
}

TEST_F(MirroredIpv6Routes, ReplaceAllThatShare) {
    const Ipv6Hop on_link{.ifindex = first_link};
    hear(Ipv6RouteAdded{over({over_first, over_second})});
    hear(Ipv6RouteAdded{over({on_link}), Place::last});
    hear(Ipv6RouteAdded{over({over_second}), Place::instead_of_first});
    EXPECT_EQ(used, by_second);
    hear(Ipv6RouteAdded{over({over_first, over_second}), Place::instead_of_first});
    EXPECT_EQ(used, by_both());
    hear(Ipv6RouteRemoved{over({over_first, over_second})});
    EXPECT_EQ(used, (forward::Ipv6NextHop{NextHop::Kind::on_link, first_id})) << "which is not of their kind";
    hear(Ipv6RouteAdded{over({over_first}), Place::instead_of_first});
    EXPECT_EQ(used, by_first) << "but is replaced if there is none";
    hear(Ipv6RouteRemoved{over({over_first})});
    EXPECT_FALSE(used);
}

TEST_F(MirroredIpv6Routes, FollowTheNextHopObjectsToWhichTheyRefer) {
    hear(NextHopChanged{{.id = 1, .hop = {.ifindex = first_link, .ipv6_gateway = ipv6("fe80::a")}}});
    hear(NextHopChanged{{.id = 2, .hop = {.ifindex = second_link, .ipv6_gateway = ipv6("fe80::b")}}});
    hear(NextHopChanged{{.id = 9, .group = {{1, 1}, {2, 1}}}});
    auto route = over({over_first, over_second});
    route.next_hop_id = 9;
    hear(Ipv6RouteAdded{route});
    EXPECT_EQ(used, by_both());
    hear(Ipv6RouteAdded{over({{.ifindex = second_link, .gateway = ipv6("fe80::c")}}), Place::last});
    EXPECT_EQ(used, by_both()) << "an object's routes share with no others";
    hear(NextHopChanged{{.id = 9, .group = {{2, 1}}}});
    EXPECT_EQ(used, by_second);
}

TEST_F(MirroredIpv6Routes, TakeTheAnycastAddressOfRoutersAsOurs) {
    hear(Ipv6RouteAdded{{.prefix = {ipv6("fd76:1::"), 128}, .table = RT_TABLE_LOCAL, .type = RTN_ANYCAST, .hops = {}}});
    EXPECT_EQ(used, forward::Ipv6NextHop{NextHop::Kind::local});
    hear(Ipv6RouteAdded{{.prefix = {ipv6("ff00::"), 8}, .table = RT_TABLE_LOCAL, .type = RTN_MULTICAST, .hops = {}}});
    EXPECT_EQ(used, forward::Ipv6NextHop{NextHop::Kind::local}) << "groups are no routes";
}

}  // namespace
}  // namespace verbline::host

// SPDX-License-Identifier: BSD-3-Clause
// Routes of several next hops, of next-hop objects and of IPv6 gateways.
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "control/host/route_mirror.h"
#include "tests/control/host/route_mirror_fixture.h"
#include "tests/support/ipv6.h"

namespace verbline::host {
namespace {

using forward::NextHop;
using forward::NextHopGroup;
using test::ipv6;
using test_mirror::a, test_mirror::b, test_mirror::eth0, test_mirror::Fib, test_mirror::ib0, test_mirror::ib0_id,
    test_mirror::lan, test_mirror::lan_id, test_mirror::MirroredRoutes, test_mirror::net, test_mirror::to_a,
    test_mirror::to_b;
using wire::ipv4;
using wire::Ipv4Address;

TEST_F(MirroredRoutes, UsesAllUsableHopsByWeight) {
    constexpr auto c = ipv4(10, 2, 0, 3);
    const auto route = [](std::uint32_t weight) {
        return Route{.prefix = net,
                     .hops = {{.ifindex = eth0, .gateway = a},
                              {.ifindex = lan, .gateway = a, .usable = false},
                              {.ifindex = ib0, .gateway = b, .weight = weight},
                              {.ifindex = ib0, .gateway = c},
                              {.ifindex = lan, .gateway = a, .weight = 2}}};
    };
    const NextHop to_c{NextHop::Kind::via, ib0_id, c};
    using Members = std::vector<NextHopGroup::Member>;
    hear(RouteAdded{route(5)});
    EXPECT_EQ(at(net), NextHopGroup(Members{{to_a, 2}, {to_b, 5}, {to_c, 1}}));
    hear(RouteAdded{route(6)});
    EXPECT_EQ(at(net), NextHopGroup(Members{{to_a, 2}, {to_b, 6}, {to_c, 1}})) << "routes may differ in weights alone";
    hear(RouteRemoved{route(6)});
    hear(LinkChanged{{.ifindex = lan, .up = false}});
    EXPECT_EQ(at(net), NextHopGroup(Members{{to_b, 5}, {to_c, 1}}));
    hear(LinkChanged{{.ifindex = ib0, .up = false}});
    EXPECT_EQ(at(net), std::nullopt);
    hear(LinkChanged{{.ifindex = lan, .up = true}});
    EXPECT_EQ(at(net), to_a);
    EXPECT_EQ(mirror.counters().routes_multipath.value(), 2u);
}

TEST_F(MirroredRoutes, IgnoresIpv6GatewaysByDefault) {
    hear(RouteAdded{{.prefix = net, .hops = {{.ifindex = lan, .ipv6_gateway = ipv6("fe80::2")}}}});
    EXPECT_EQ(at(net), std::nullopt);
}

/// RFC 8950.
TEST(RouteMirror, MapsIpv6GatewaysToStandIns) {
    Ipv6Gateways gateways;
    RouteMirror mirror(&gateways);
    Fib fib;
    mirror.attach(lan, lan_id);
    const auto hear = [&](const KernelEvent& event) { fib.play(mirror.received(event)); };
    hear(LinkChanged{{.ifindex = lan, .up = true}}), hear(Synced{});
    const auto by_way_of = [](std::string_view gateway) {
        return Route{.prefix = net, .hops = {{.ifindex = lan, .ipv6_gateway = ipv6(gateway)}}};
    };
    hear(RouteAdded{by_way_of("fe80::2")});
    const auto first = gateways.find(ipv6("fe80::2"));
    ASSERT_TRUE(first);
    EXPECT_EQ(fib.routes[net], (NextHop{NextHop::Kind::via, lan_id, *first}));
    hear(RouteAdded{by_way_of("fe80::3")});
    const auto second = gateways.find(ipv6("fe80::3"));
    ASSERT_TRUE(second);
    EXPECT_EQ(fib.routes[net], (NextHop{NextHop::Kind::via, lan_id, *second})) << "another route";
    hear(RouteRemoved{by_way_of("fe80::3")});
    EXPECT_EQ(fib.routes[net], (NextHop{NextHop::Kind::via, lan_id, *first}));
    auto route = by_way_of("fe80::2");
    route.hops.push_back(by_way_of("fe80::3").hops.front());
    hear(RouteAdded{route, Place::instead_of_first});
    EXPECT_EQ(fib.routes[net], NextHopGroup(std::vector<NextHopGroup::Member>{
                                   {{NextHop::Kind::via, lan_id, *first}}, {{NextHop::Kind::via, lan_id, *second}}}));
    hear(RouteRemoved{route});
    EXPECT_TRUE(fib.routes.empty());
}

NextHopChanged object(std::uint32_t id, int ifindex, Ipv4Address gateway) {
    return {{.id = id, .hop = {.ifindex = ifindex, .gateway = gateway}}};
}
/// To the network by way of a next-hop object; the message names no hops, or ones that do not count.
Route by_object(std::uint32_t id, std::vector<Hop> hops = {}) {
    return {.prefix = net, .next_hop_id = id, .hops = std::move(hops)};
}

TEST_F(MirroredRoutes, FollowsNextHopObjects) {
    hear(RouteAdded{by_object(9)});
    EXPECT_EQ(at(net), std::nullopt) << "there is none yet";
    hear(object(1, lan, a)), hear(object(2, ib0, b));
    hear(NextHopChanged{{.id = 9, .group = {{1, 3}, {2, 1}}}});
    EXPECT_EQ(at(net), NextHopGroup(std::vector<NextHopGroup::Member>{{to_a, 3}, {to_b, 1}}));
    hear(object(1, ib0, a));
    EXPECT_EQ(at(net),
              NextHopGroup(std::vector<NextHopGroup::Member>{{{NextHop::Kind::via, ib0_id, a}, 3}, {to_b, 1}}));
    hear(LinkChanged{{.ifindex = ib0, .up = false}});
    EXPECT_EQ(at(net), std::nullopt);
    hear(LinkChanged{{.ifindex = ib0, .up = true}});
    hear(NextHopRemoved{1});
    EXPECT_EQ(at(net), to_b);
    hear(NextHopChanged{{.id = 9, .blackhole = true}});
    EXPECT_EQ(at(net), NextHop{.kind = NextHop::Kind::blackhole});
    hear(NextHopRemoved{9});
    EXPECT_EQ(at(net), std::nullopt) << "the kernel drops its routes without a word";
}

TEST_F(MirroredRoutes, IdentifiesRoutesByNextHopObject) {
    hear(object(1, lan, a));
    hear(RouteAdded{by_object(1, {{.ifindex = ib0, .gateway = b}})});
    EXPECT_EQ(at(net), to_a);
    fib.changes = 0;
    hear(RouteAdded{by_object(1, {{.ifindex = lan, .gateway = a}}), Place::instead_of_first});
    hear(object(1, lan, a)), hear(object(3, lan, b));
    EXPECT_EQ(fib.changes, 0u);
    hear(RouteRemoved{by_object(1)});
    EXPECT_EQ(at(net), std::nullopt);
}

TEST_F(MirroredRoutes, RemovesNextHopObjectsMissingFromAResync) {
    hear(object(1, lan, a));
    hear(RouteAdded{by_object(1)});
    hear(Resync{});
    hear(LinkChanged{{.ifindex = lan, .up = true}});
    hear(RouteAdded{by_object(1), Place::last});
    EXPECT_EQ(at(net), to_a) << "for now";
    hear(Synced{});
    EXPECT_EQ(at(net), std::nullopt);
}

}  // namespace
}  // namespace verbline::host

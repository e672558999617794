// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/route_mirror.h"

#include <optional>

#include <linux/rtnetlink.h>

#include <gtest/gtest.h>

#include "tests/control/host/route_mirror_fixture.h"

namespace verbline::host {
namespace {

using forward::InterfaceId;
using forward::NextHop;
using test_mirror::a, test_mirror::b, test_mirror::eth0, test_mirror::ib0, test_mirror::lan, test_mirror::lan_id,
    test_mirror::MirroredRoutes, test_mirror::net, test_mirror::to_a, test_mirror::to_b, test_mirror::via;
using wire::ipv4;
using wire::Ipv4Prefix;

TEST_F(MirroredRoutes, MirrorsRoutesOverAttachedInterfacesOnly) {
    hear(RouteAdded{via(a, lan)});
    EXPECT_EQ(at(net), to_a);
    hear(RouteAdded{{.prefix = {ipv4(10, 1, 0, 0), 24}, .hops = {{.ifindex = lan}}}});
    EXPECT_EQ(at({ipv4(10, 1, 0, 0), 24}), (NextHop{NextHop::Kind::on_link, lan_id}));
    hear(RouteRemoved{via(a, lan)});
    EXPECT_EQ(at(net), std::nullopt);
    hear(RouteAdded{{.prefix = {ipv4(10, 7, 0, 0), 16}, .hops = {{.ifindex = eth0}}}});
    EXPECT_EQ(fib.routes.size(), 1u) << "one over another's interface is not ours to use";
}

TEST_F(MirroredRoutes, TakesTheLowestMetricAndThenTheKernelsOrder) {
    hear(RouteAdded{via(b, ib0, 20)});
    EXPECT_EQ(at(net), to_b);
    hear(RouteAdded{via(a, lan, 10)});
    EXPECT_EQ(at(net), to_a);
    hear(RouteAdded{via(b, ib0, 10), Place::last});
    EXPECT_EQ(at(net), to_a) << "appended";
    hear(RouteRemoved{via(b, ib0, 10)});
    hear(RouteAdded{via(b, ib0, 10), Place::first});
    EXPECT_EQ(at(net), to_b) << "prepended";
    hear(RouteRemoved{via(b, ib0, 10)});
    hear(RouteRemoved{via(a, lan, 10)});
    EXPECT_EQ(at(net), to_b) << "of metric 20";
}

TEST_F(MirroredRoutes, ReplacesTheFirstOfEqualMetric) {
    hear(RouteAdded{via(a, lan, 5)});
    hear(RouteAdded{via(a, lan, 10)});
    hear(RouteAdded{via(b, ib0, 10), Place::instead_of_first});
    hear(RouteRemoved{via(a, lan, 5)});
    EXPECT_EQ(at(net), to_b);
    hear(RouteRemoved{via(b, ib0, 10)});
    EXPECT_EQ(at(net), std::nullopt) << "nothing is left of the one replaced";
}

TEST_F(MirroredRoutes, ChangesInOneStep) {
    hear(RouteAdded{via(a, lan)});
    fib.changes = 0;
    hear(RouteAdded{via(b, ib0), Place::instead_of_first});
    EXPECT_EQ(fib.changes, 1u) << "never without a route";
    hear(RouteAdded{via(a, lan, 50)});
    hear(RouteAdded{via(b, ib0)});
    EXPECT_EQ(fib.changes, 1u) << "what makes no difference is not told";
}

TEST_F(MirroredRoutes, LosesTheRoutesOfAnInterfaceThatGoesDown) {
    hear(RouteAdded{via(a, lan)});
    hear(RouteAdded{via(b, ib0, 10)});
    hear(LinkChanged{{.ifindex = lan, .up = false}});
    EXPECT_EQ(at(net), to_b);
    hear(LinkRemoved{ib0});
    EXPECT_EQ(at(net), std::nullopt);
}

TEST_F(MirroredRoutes, KeepsTheFibDuringAResync) {
    hear(RouteAdded{via(a, lan)});
    hear(RouteAdded{{.prefix = {ipv4(10, 1, 0, 0), 24}, .hops = {{.ifindex = lan}}}});
    fib.changes = 0;
    hear(Resync{});
    for (const int ifindex : {lan, ib0}) hear(LinkChanged{{.ifindex = ifindex, .up = true}});
    hear(RouteAdded{via(a, lan), Place::last});
    EXPECT_EQ(fib.changes, 0u);
    hear(Synced{});
    EXPECT_EQ(fib.changes, 1u) << "the one that is gone";
    EXPECT_EQ(at(net), to_a);
}

TEST_F(MirroredRoutes, LinkMissingFromAResyncIsDown) {
    hear(RouteAdded{via(a, lan)});
    hear(Resync{});
    hear(RouteAdded{via(a, lan), Place::last});
    hear(Synced{});
    EXPECT_EQ(at(net), std::nullopt);
}

TEST_F(MirroredRoutes, DistinguishesRoutesByProtocolAndPreferredSource) {
    const auto ours = via(a, lan);
    auto daemons = ours, from = ours;
    daemons.protocol = RTPROT_BGP;
    from.preferred_source = ipv4(10, 9, 0, 1);
    for (const auto& other : {daemons, from}) {
        hear(RouteAdded{ours});
        hear(RouteAdded{other});
        hear(RouteRemoved{ours});
        EXPECT_EQ(at(net), to_a);
        hear(RouteRemoved{other});
        EXPECT_EQ(at(net), std::nullopt);
    }
}

TEST_F(MirroredRoutes, AddressesOfAllInterfacesAreLocal) {
    const NextHop local{.kind = NextHop::Kind::local};
    for (const int ifindex : {lan, eth0}) {
        const Ipv4Prefix address{ipv4(10, 1, 0, static_cast<unsigned>(ifindex)), 32};
        hear(RouteAdded{
            {.prefix = address, .table = RT_TABLE_LOCAL, .type = RTN_LOCAL, .hops = {{.ifindex = ifindex}}}});
        EXPECT_EQ(at(address), local);
        hear(LinkChanged{{.ifindex = ifindex, .up = false}});
        EXPECT_EQ(at(address), local) << "an address stays ours while its link is down";
    }
}

TEST_F(MirroredRoutes, BroadcastAddressesAreLocalWhileTheLinkIsUp) {
    const Ipv4Prefix broadcast{ipv4(10, 1, 0, 255), 32};
    hear(RouteAdded{{.prefix = broadcast, .table = RT_TABLE_LOCAL, .type = RTN_BROADCAST, .hops = {{.ifindex = lan}}}});
    EXPECT_EQ(at(broadcast), NextHop{.kind = NextHop::Kind::local}) << "so that nothing is routed there (RFC 2644)";
    hear(LinkChanged{{.ifindex = lan, .up = false}});
    EXPECT_EQ(at(broadcast), std::nullopt) << "as the network goes with its link";
}

TEST_F(MirroredRoutes, PrefersTheLocalTable) {
    const Ipv4Prefix address{ipv4(10, 1, 0, 1), 32};
    hear(RouteAdded{{.prefix = address, .table = RT_TABLE_LOCAL, .metric = 99, .type = RTN_LOCAL}});
    hear(RouteAdded{{.prefix = address, .metric = 1, .hops = {{.ifindex = ib0}}}});
    EXPECT_EQ(only_at(address).kind, NextHop::Kind::local);
}

TEST_F(MirroredRoutes, MirrorsBlackholeAndUnreachableRoutes) {
    hear(RouteAdded{{.prefix = net, .metric = 1, .type = RTN_BLACKHOLE}});
    EXPECT_EQ(only_at(net).kind, NextHop::Kind::blackhole);
    hear(RouteAdded{{.prefix = net, .type = RTN_PROHIBIT}});
    EXPECT_EQ(only_at(net).kind, NextHop::Kind::unreachable);
    hear(RouteAdded{{.prefix = {}, .type = RTN_UNREACHABLE}});
    EXPECT_EQ(only_at({}).kind, NextHop::Kind::unreachable);
    hear(RouteAdded{{.prefix = {ipv4(10, 9, 0, 0), 16}, .type = RTN_THROW}});
    EXPECT_EQ(at({ipv4(10, 9, 0, 0), 16}), std::nullopt);
}

TEST_F(MirroredRoutes, IgnoresRoutesForOneTosAndOtherTables) {
    auto route = via(a, lan);
    route.tos = 0x10;
    hear(RouteAdded{route});
    route.tos = 0;
    route.table = 1234;
    hear(RouteAdded{route});
    EXPECT_TRUE(fib.routes.empty());
    EXPECT_EQ(mirror.counters().routes_ignored_tos.value(), 1u);
    EXPECT_EQ(mirror.counters().routes_ignored_table.value(), 1u);
}

TEST_F(MirroredRoutes, DetachRemovesRoutesOfTheInterface) {
    hear(RouteAdded{via(a, lan)});
    fib.play(mirror.detach(lan));
    EXPECT_TRUE(fib.routes.empty());
    fib.play(mirror.attach(lan, InterfaceId{7}));
    EXPECT_EQ(only_at(net).interface, InterfaceId{7});
}

}  // namespace
}  // namespace verbline::host

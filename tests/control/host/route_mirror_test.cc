// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/route_mirror.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/ipv6.h"

namespace verbline::host {
namespace {

using forward::InterfaceId;
using forward::NextHop;
using test::ipv6;
using wire::ipv4;
using wire::Ipv4Address;
using wire::Ipv4Prefix;

constexpr int lan = 3, ib0 = 4, eth0 = 9;  // eth0 is not ours
constexpr InterfaceId lan_id{0}, ib0_id{1};
constexpr Ipv4Prefix net{ipv4(10, 5, 0, 0), 16};

/// A FIB that does what it is told.
struct Fib {
    std::map<Ipv4Prefix, NextHop> routes;
    std::size_t changes = 0;

    void play(const RouteMirror::Actions& actions) {
        for (const auto& action : actions) {
            ++changes;
            if (const auto* set = std::get_if<RouteMirror::Set>(&action)) {
                routes[set->prefix] = set->next_hop;
            } else {
                EXPECT_EQ(routes.erase(std::get<RouteMirror::Unset>(action).prefix), 1u) << "what is there";
            }
        }
    }
};

/// A mirror with our two interfaces up and everything synced.
struct MirroredRoutes : testing::Test {
    RouteMirror mirror;
    Fib fib;

    MirroredRoutes() {
        fib.play(mirror.attach(lan, lan_id));
        fib.play(mirror.attach(ib0, ib0_id));
        for (const int ifindex : {lan, ib0, eth0}) hear(LinkChanged{{.ifindex = ifindex, .up = true}});
        hear(Synced{});
    }
    void hear(const KernelEvent& event) { fib.play(mirror.received(event)); }
    std::optional<NextHop> at(const Ipv4Prefix& prefix) const {
        const auto found = fib.routes.find(prefix);
        return found == fib.routes.end() ? std::nullopt : std::optional(found->second);
    }
};

Route via(Ipv4Address gateway, int ifindex, std::uint32_t metric = 0) {
    return {.prefix = net, .metric = metric, .hops = {{.ifindex = ifindex, .gateway = gateway}}};
}
constexpr Ipv4Address a = ipv4(10, 1, 0, 2), b = ipv4(10, 2, 0, 2);
const NextHop to_a{NextHop::Kind::via, lan_id, a}, to_b{NextHop::Kind::via, ib0_id, b};

TEST_F(MirroredRoutes, TakesRoutesOverOurInterfaces) {
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

TEST_F(MirroredRoutes, KeepsTheFibWhileItHearsEverythingAgain) {
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

TEST_F(MirroredRoutes, BelievesNoLinkUpThatIsNotHeardOfAgain) {
    hear(RouteAdded{via(a, lan)});
    hear(Resync{});
    hear(RouteAdded{via(a, lan), Place::last});
    hear(Synced{});
    EXPECT_EQ(at(net), std::nullopt);
}

TEST_F(MirroredRoutes, KeepsRoutesApartThatTheKernelKeepsApart) {
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

TEST_F(MirroredRoutes, KnowsItsOwnAddressesAndThoseOfOthersAsLocal) {
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

TEST_F(MirroredRoutes, KnowsTheBroadcastAddressesOfOurNetworksAsLocal) {
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
    EXPECT_EQ(at(address)->kind, NextHop::Kind::local);
}

TEST_F(MirroredRoutes, RefusesAndDropsAsTold) {
    hear(RouteAdded{{.prefix = net, .metric = 1, .type = RTN_BLACKHOLE}});
    EXPECT_EQ(at(net)->kind, NextHop::Kind::blackhole);
    hear(RouteAdded{{.prefix = net, .type = RTN_PROHIBIT}});
    EXPECT_EQ(at(net)->kind, NextHop::Kind::unreachable);
    hear(RouteAdded{{.prefix = {}, .type = RTN_UNREACHABLE}});
    EXPECT_EQ(at({})->kind, NextHop::Kind::unreachable);
    hear(RouteAdded{{.prefix = {ipv4(10, 9, 0, 0), 16}, .type = RTN_THROW}});
    EXPECT_EQ(at({ipv4(10, 9, 0, 0), 16}), std::nullopt);
}

TEST_F(MirroredRoutes, TakesTheFirstUsableHopOfSeveral) {
    hear(RouteAdded{{.prefix = net,
                     .hops = {{.ifindex = eth0, .gateway = a},
                              {.ifindex = lan, .gateway = a, .usable = false},
                              {.ifindex = ib0, .gateway = b},
                              {.ifindex = lan, .gateway = a}}}});
    EXPECT_EQ(at(net), to_b);
    hear(LinkChanged{{.ifindex = ib0, .up = false}});
    EXPECT_EQ(at(net), to_a);
    EXPECT_EQ(mirror.counters().routes_multipath.value(), 1u);
}

TEST_F(MirroredRoutes, PassesOverIpv6GatewaysUnlessTold) {
    hear(RouteAdded{{.prefix = net, .hops = {{.ifindex = lan, .ipv6_gateway = ipv6("fe80::2")}}}});
    EXPECT_EQ(at(net), std::nullopt);
}

/// RFC 8950.
TEST(RouteMirror, GivesIpv6GatewaysStandIns) {
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
    EXPECT_EQ(fib.routes[net].gateway, gateways.find(ipv6("fe80::3"))) << "another route";
    hear(RouteRemoved{by_way_of("fe80::3")});
    EXPECT_EQ(fib.routes[net].gateway, first);
    hear(RouteRemoved{by_way_of("fe80::2")});
    EXPECT_TRUE(fib.routes.empty());
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

TEST_F(MirroredRoutes, LetsGoOfAnInterface) {
    hear(RouteAdded{via(a, lan)});
    fib.play(mirror.detach(lan));
    EXPECT_TRUE(fib.routes.empty());
    fib.play(mirror.attach(lan, InterfaceId{7}));
    EXPECT_EQ(at(net)->interface, InterfaceId{7});
}

/// A kernel with few prefixes and many routes, whose messages get lost.
struct Kernel {
    explicit Kernel(unsigned seed) : random(seed) {
        for (const int ifindex : {lan, ib0, eth0}) up[ifindex] = true;
    }

    std::mt19937 random;
    std::map<int, bool> up;
    std::map<Ipv4Prefix, std::vector<Route>> routes;  ///< by metric, then in order of preference
    bool lost = true;

    Route random_route() {
        constexpr int ways[] = {lan, ib0, eth0};
        auto route = via(random() % 2 ? a : b, ways[random() % 3], random() % 3);
        route.prefix = {ipv4(10, random() % 3, 0, 0), 16};
        if (random() % 8 == 0) route.type = RTN_BLACKHOLE, route.hops.clear();
        if (random() % 8 == 0) route.hops.push_back({.ifindex = ways[random() % 3], .gateway = a});
        return route;
    }
    bool possible(const Route& route) {
        return std::ranges::all_of(route.hops, [&](const Hop& h) { return up[h.ifindex]; });
    }

    std::vector<KernelEvent> step() {
        auto route = random_route();
        auto& same_prefix = routes[route.prefix];
        const auto known = std::ranges::find(same_prefix, route);
        if (random() % 4 == 0) return flip(random() % 2 ? lan : ib0);
        if (known != same_prefix.end()) {
            same_prefix.erase(known);
            return {RouteRemoved{route}};
        }
        if (!possible(route)) return {};
        const auto place = static_cast<Place>(random() % 3);
        const auto equals = std::ranges::equal_range(same_prefix, route.metric, {}, &Route::metric);
        if (place == Place::instead_of_first && !equals.empty()) {
            equals.front() = route;
        } else {
            same_prefix.insert(place == Place::last ? equals.end() : equals.begin(), route);
        }
        return {RouteAdded{route, place}};
    }
    /// Down: routes over the link vanish, and nobody is told. The monitor therefore asks for everything again.
    std::vector<KernelEvent> flip(int ifindex) {
        up[ifindex] = !up[ifindex];
        if (!up[ifindex]) {
            for (auto& [prefix, list] : routes) {
                std::erase_if(list, [&](const Route& route) { return !possible(route); });
            }
            lost = true;
        }
        return {LinkChanged{{.ifindex = ifindex, .up = up[ifindex]}}};
    }
    std::vector<KernelEvent> dump() {
        lost = false;
        std::vector<KernelEvent> events{Resync{}};
        for (const auto& [ifindex, is_up] : up) events.emplace_back(LinkChanged{{.ifindex = ifindex, .up = is_up}});
        for (const auto& [prefix, list] : routes) {
            for (const auto& route : list) events.emplace_back(RouteAdded{route, Place::last});
        }
        events.emplace_back(Synced{});
        return events;
    }
    /// What the kernel would do with a packet, as far as it is ours to do.
    std::optional<NextHop> choice(const Ipv4Prefix& prefix) {
        for (const auto& route : routes[prefix]) {
            if (route.type == RTN_BLACKHOLE) return NextHop{.kind = NextHop::Kind::blackhole};
            for (const auto& hop : route.hops) {
                if (hop.ifindex == eth0) continue;
                return NextHop{NextHop::Kind::via, hop.ifindex == lan ? lan_id : ib0_id, hop.gateway};
            }
        }
        return std::nullopt;
    }
};

class RouteMirrorSimulation : public testing::TestWithParam<unsigned> {};

TEST_P(RouteMirrorSimulation, EndsUpWithTheKernelsRoutes) {
    Kernel kernel(GetParam());
    RouteMirror mirror;
    Fib fib;
    mirror.attach(lan, lan_id);
    mirror.attach(ib0, ib0_id);
    for (int i = 0; i < 300; ++i) {
        for (const auto& event : kernel.step()) {
            if (kernel.random() % 50 == 0) {
                kernel.lost = true;
                continue;
            }
            fib.play(mirror.received(event));
            if (kernel.random() % 20 == 0) fib.play(mirror.received(event));  // heard of twice
        }
        if (!kernel.lost || kernel.random() % 4 != 0) continue;
        for (const auto& event : kernel.dump()) fib.play(mirror.received(event));
    }
    if (kernel.lost) {
        for (const auto& event : kernel.dump()) fib.play(mirror.received(event));
    }
    for (unsigned i = 0; i < 3; ++i) {
        const Ipv4Prefix prefix{ipv4(10, i, 0, 0), 16};
        const auto wanted = kernel.choice(prefix);
        ASSERT_EQ(fib.routes.contains(prefix), wanted.has_value());
        EXPECT_EQ(fib.routes[prefix], wanted.value_or(NextHop{}));
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RouteMirrorSimulation, testing::Range(0u, 2000u));

/// IPv6 routes; the rules are IPv4's, except for routes of several hops.
struct MirroredIpv6Routes : testing::Test {
    Ipv6RouteMirror mirror;
    std::optional<forward::Ipv6NextHop> used;

    MirroredIpv6Routes() {
        hear(Synced{});
        play(mirror.attach(lan, lan_id));
        play(mirror.attach(ib0, ib0_id));
        for (const int ifindex : {lan, ib0}) hear(LinkChanged{{.ifindex = ifindex, .up = true}});
    }
    void play(const Ipv6RouteMirror::Actions& actions) {
        for (const auto& action : actions) {
            const auto* set = std::get_if<Ipv6RouteMirror::Set>(&action);
            used = set != nullptr ? std::optional(set->next_hop) : std::nullopt;
        }
    }
    void hear(const KernelEvent& event) { play(mirror.received(event)); }
    static Ipv6Route over(std::vector<Ipv6Hop> hops) {
        return {.prefix = {ipv6("fd76:5::"), 32}, .metric = 1024, .hops = std::move(hops)};
    }
};
const Ipv6Hop over_lan{.ifindex = lan, .gateway = ipv6("fe80::a")},
    over_ib0{.ifindex = ib0, .gateway = ipv6("fe80::b")};
const forward::Ipv6NextHop by_lan{NextHop::Kind::via, lan_id, ipv6("fe80::a")},
    by_ib0{NextHop::Kind::via, ib0_id, ipv6("fe80::b")};

TEST_F(MirroredIpv6Routes, FollowRoutes) {
    hear(RouteAdded{{.prefix = net, .hops = {{.ifindex = lan}}}});
    EXPECT_FALSE(used) << "of the other family";
    hear(Ipv6RouteAdded{over({over_lan})});
    EXPECT_EQ(used, by_lan);
    hear(LinkChanged{{.ifindex = lan, .up = false}});
    EXPECT_FALSE(used);
    hear(LinkChanged{{.ifindex = lan, .up = true}});
    EXPECT_EQ(used, by_lan);
    hear(Ipv6RouteRemoved{over({over_lan})});
    EXPECT_FALSE(used);
}

TEST_F(MirroredIpv6Routes, AreAsManyAsTheirHops) {
    hear(Ipv6RouteAdded{over({over_lan})});
    hear(Ipv6RouteAdded{over({over_lan, over_ib0}), Place::last});
    EXPECT_EQ(used, by_lan);
    hear(Ipv6RouteRemoved{over({over_lan})});
    EXPECT_EQ(used, by_ib0) << "the kernel tells of the hop alone";
    hear(Ipv6RouteAdded{over({over_ib0, over_lan}), Place::last});
    hear(Ipv6RouteRemoved{over({over_ib0, over_lan})});
    EXPECT_FALSE(used) << "and of all at once";
}

TEST_F(MirroredIpv6Routes, TakeTheAnycastAddressOfRoutersAsOurs) {
    hear(Ipv6RouteAdded{{.prefix = {ipv6("fd76:1::"), 128}, .table = RT_TABLE_LOCAL, .type = RTN_ANYCAST, .hops = {}}});
    EXPECT_EQ(used, forward::Ipv6NextHop{NextHop::Kind::local});
    hear(Ipv6RouteAdded{{.prefix = {ipv6("ff00::"), 8}, .table = RT_TABLE_LOCAL, .type = RTN_MULTICAST, .hops = {}}});
    EXPECT_EQ(used, forward::Ipv6NextHop{NextHop::Kind::local}) << "groups are no routes";
}

}  // namespace
}  // namespace verbline::host

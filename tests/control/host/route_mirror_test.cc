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
using forward::NextHopGroup;
using test::ipv6;
using wire::ipv4;
using wire::Ipv4Address;
using wire::Ipv4Prefix;

constexpr int lan = 3, ib0 = 4, eth0 = 9;  // eth0 is not ours
constexpr InterfaceId lan_id{0}, ib0_id{1};
constexpr Ipv4Prefix net{ipv4(10, 5, 0, 0), 16};

/// A FIB that does what it is told.
struct Fib {
    std::map<Ipv4Prefix, NextHopGroup> routes;
    std::size_t changes = 0;

    void play(const RouteMirror::Actions& actions) {
        for (const auto& action : actions) {
            ++changes;
            if (const auto* set = std::get_if<RouteMirror::Set>(&action)) {
                routes[set->prefix] = set->next_hops;
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
    std::optional<NextHopGroup> at(const Ipv4Prefix& prefix) const {
        const auto found = fib.routes.find(prefix);
        return found == fib.routes.end() ? std::nullopt : std::optional(found->second);
    }
    NextHop only_at(const Ipv4Prefix& prefix) const {
        const auto group = at(prefix);
        EXPECT_TRUE(group && group->alone() != nullptr);
        return group ? group->members().front().hop : NextHop{};
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
    EXPECT_EQ(only_at(address).kind, NextHop::Kind::local);
}

TEST_F(MirroredRoutes, RefusesAndDropsAsTold) {
    hear(RouteAdded{{.prefix = net, .metric = 1, .type = RTN_BLACKHOLE}});
    EXPECT_EQ(only_at(net).kind, NextHop::Kind::blackhole);
    hear(RouteAdded{{.prefix = net, .type = RTN_PROHIBIT}});
    EXPECT_EQ(only_at(net).kind, NextHop::Kind::unreachable);
    hear(RouteAdded{{.prefix = {}, .type = RTN_UNREACHABLE}});
    EXPECT_EQ(only_at({}).kind, NextHop::Kind::unreachable);
    hear(RouteAdded{{.prefix = {ipv4(10, 9, 0, 0), 16}, .type = RTN_THROW}});
    EXPECT_EQ(at({ipv4(10, 9, 0, 0), 16}), std::nullopt);
}

TEST_F(MirroredRoutes, TakesAllUsableHopsOfSeveralByTheirWeights) {
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
    const auto second = gateways.find(ipv6("fe80::3"));
    ASSERT_TRUE(second);
    EXPECT_EQ(fib.routes[net], (NextHop{NextHop::Kind::via, lan_id, *second})) << "another route";
    hear(RouteRemoved{by_way_of("fe80::3")});
    EXPECT_EQ(fib.routes[net], (NextHop{NextHop::Kind::via, lan_id, *first}));
    auto both = by_way_of("fe80::2");
    both.hops.push_back(by_way_of("fe80::3").hops.front());
    hear(RouteAdded{both, Place::instead_of_first});
    EXPECT_EQ(fib.routes[net], NextHopGroup(std::vector<NextHopGroup::Member>{
                                   {{NextHop::Kind::via, lan_id, *first}}, {{NextHop::Kind::via, lan_id, *second}}}));
    hear(RouteRemoved{both});
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
    EXPECT_EQ(only_at(net).interface, InterfaceId{7});
}

NextHopChanged object(std::uint32_t id, int ifindex, Ipv4Address gateway) {
    return {{.id = id, .hop = {.ifindex = ifindex, .gateway = gateway}}};
}
/// To the network by way of a next-hop object; the message names no hops, or ones that do not count.
Route by_object(std::uint32_t id, std::vector<Hop> hops = {}) {
    return {.prefix = net, .next_hop_id = id, .hops = std::move(hops)};
}

TEST_F(MirroredRoutes, FollowTheNextHopObjectsToWhichTheyRefer) {
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

TEST_F(MirroredRoutes, AreKnownByTheirObjectWhateverItsHops) {
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

TEST_F(MirroredRoutes, ForgetNextHopObjectsThatAreNotHeardOfAgain) {
    hear(object(1, lan, a));
    hear(RouteAdded{by_object(1)});
    hear(Resync{});
    hear(LinkChanged{{.ifindex = lan, .up = true}});
    hear(RouteAdded{by_object(1), Place::last});
    EXPECT_EQ(at(net), to_a) << "for now";
    hear(Synced{});
    EXPECT_EQ(at(net), std::nullopt);
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
        if (random() % 3 == 0) {
            const auto weight = static_cast<std::uint32_t>(1 + random() % 3);
            route.hops.push_back({.ifindex = ways[random() % 3], .gateway = a, .weight = weight});
        }
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
    std::optional<NextHopGroup> choice(const Ipv4Prefix& prefix) {
        for (const auto& route : routes[prefix]) {
            if (route.type == RTN_BLACKHOLE) return NextHop{.kind = NextHop::Kind::blackhole};
            std::vector<NextHopGroup::Member> members;
            for (const auto& hop : route.hops) {
                if (hop.ifindex == eth0) continue;
                const auto interface = hop.ifindex == lan ? lan_id : ib0_id;
                members.push_back({{NextHop::Kind::via, interface, hop.gateway}, hop.weight});
            }
            if (!members.empty()) return NextHopGroup(std::move(members));
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
        EXPECT_EQ(fib.routes[prefix], wanted.value_or(NextHopGroup()));
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RouteMirrorSimulation, testing::Range(0u, 2000u));

}  // namespace
}  // namespace verbline::host

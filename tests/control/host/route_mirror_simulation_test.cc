// SPDX-License-Identifier: BSD-3-Clause
// A mirror beside a simulated kernel whose messages get lost: in the end both have the same routes.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <linux/rtnetlink.h>

#include <gtest/gtest.h>

#include "control/host/route_mirror.h"
#include "tests/control/host/route_mirror_fixture.h"

namespace verbline::host {
namespace {

using forward::NextHop;
using forward::NextHopGroup;
using test_mirror::a, test_mirror::b, test_mirror::eth0, test_mirror::Fib, test_mirror::ib0, test_mirror::ib0_id,
    test_mirror::lan, test_mirror::lan_id, test_mirror::via;
using wire::ipv4;
using wire::Ipv4Prefix;

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

TEST_P(RouteMirrorSimulation, ConvergesToTheKernelsRoutes) {
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

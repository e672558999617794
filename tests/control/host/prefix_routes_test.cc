// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/prefix_routes.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/support/ipv6.h"

namespace verbline::host::prefix_routes {
namespace {

using test::ipv6;

Ipv6Route over(std::vector<Ipv6Hop> hops, std::uint32_t metric = 1024) {
    return {.metric = metric, .hops = std::move(hops)};
}
const Ipv6Hop a{.ifindex = 1, .gateway = ipv6("fe80::a")}, b{.ifindex = 2, .gateway = ipv6("fe80::b")},
    on_link{.ifindex = 3};

/// Those over several hops are as many.
std::vector<Ipv6Hop> hops(const BasicPrefixRoutes<wire::Ipv6Address>& routes) {
    std::vector<Ipv6Hop> out;
    for (const auto& route : routes) out.insert(out.end(), route.hops.begin(), route.hops.end());
    return out;
}

TEST(PrefixRoutes, AreInTheKernelsOrder) {
    BasicPrefixRoutes<wire::Ipv4Address> routes;
    const auto of = [](std::uint32_t table, std::uint32_t metric, std::uint8_t protocol) {
        return Route{.table = table, .metric = metric, .protocol = protocol, .hops = {{.ifindex = 1}}};
    };
    routes.add(of(RT_TABLE_DEFAULT, 0, 1), Place::first);
    routes.add(of(RT_TABLE_MAIN, 7, 2), Place::first);
    routes.add(of(RT_TABLE_MAIN, 7, 3), Place::last);
    routes.add(of(RT_TABLE_MAIN, 7, 4), Place::first);
    routes.add(of(RT_TABLE_MAIN, 6, 5), Place::last);
    routes.add(of(RT_TABLE_LOCAL, 9, 6), Place::last);
    routes.add(of(RT_TABLE_MAIN, 7, 7), Place::instead_of_first);
    routes.add(of(RT_TABLE_MAIN, 7, 3), Place::first);  // known
    std::vector<int> protocols;
    for (const auto& route : routes) protocols.push_back(route.protocol);
    EXPECT_EQ(protocols, (std::vector{6, 5, 7, 2, 3, 1}));
    EXPECT_FALSE(routes.consults(1234));
}

TEST(PrefixRoutes, OfIpv6AreAsManyAsTheirHops) {
    BasicPrefixRoutes<wire::Ipv6Address> routes;
    routes.add(over({a}), Place::first);
    routes.add(over({a, b}), Place::last);
    EXPECT_EQ(hops(routes), (std::vector{a, b}));
    routes.remove(over({a}));
    EXPECT_EQ(hops(routes), (std::vector{b}));
    routes.remove(over({a, b}));
    EXPECT_TRUE(routes.empty());
}

TEST(PrefixRoutes, OfIpv6ReplaceAllThatSharePackets) {
    BasicPrefixRoutes<wire::Ipv6Address> routes;
    routes.add(over({a, b}), Place::last);
    routes.add(over({on_link}), Place::last);
    routes.add(over({a}, 7), Place::last);
    routes.add(over({b}), Place::instead_of_first);
    EXPECT_EQ(hops(routes), (std::vector{a, b, on_link})) << "a's is of another metric";
}

TEST(PrefixRoutes, SharePacketsIfTheyAreOfOneMetricAndHaveGateways) {
    const auto share = BasicPrefixRoutes<wire::Ipv6Address>::share;
    auto advertised = over({b});
    advertised.protocol = RTPROT_RA;
    EXPECT_TRUE(share(over({a}), over({b})));
    EXPECT_FALSE(share(over({a}), over({b}, 7)));
    EXPECT_FALSE(share(over({a}), over({on_link})));
    EXPECT_FALSE(share(over({a}), advertised));
    EXPECT_FALSE(BasicPrefixRoutes<wire::Ipv4Address>::share(Route{.hops = {{1, wire::ipv4(10, 0, 0, 1)}}},
                                                             Route{.hops = {{1, wire::ipv4(10, 0, 0, 2)}}}))
        << "the kernel has IPv4 routes of several hops instead";
}

}  // namespace
}  // namespace verbline::host::prefix_routes

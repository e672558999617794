// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A mirror of IPv4 routes over two interfaces, and the routes that it sets.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <variant>

#include <gtest/gtest.h>

#include "control/host/route_mirror.h"

namespace verbline::host::test_mirror {

using forward::InterfaceId;
using forward::NextHop;
using forward::NextHopGroup;
using wire::ipv4;
using wire::Ipv4Address;
using wire::Ipv4Prefix;

inline constexpr int lan = 3, ib0 = 4, eth0 = 9;  // no port is on eth0
inline constexpr InterfaceId lan_id{0}, ib0_id{1};
inline constexpr Ipv4Prefix net{ipv4(10, 5, 0, 0), 16};

/// Applies the actions of a mirror to a map.
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

/// A mirror with both interfaces attached and up, after the first dump.
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

inline Route via(Ipv4Address gateway, int ifindex, std::uint32_t metric = 0) {
    return {.prefix = net, .metric = metric, .hops = {{.ifindex = ifindex, .gateway = gateway}}};
}
inline constexpr Ipv4Address a = ipv4(10, 1, 0, 2), b = ipv4(10, 2, 0, 2);
inline const NextHop to_a{NextHop::Kind::via, lan_id, a}, to_b{NextHop::Kind::via, ib0_id, b};

}  // namespace verbline::host::test_mirror

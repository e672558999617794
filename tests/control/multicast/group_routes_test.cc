// SPDX-License-Identifier: BSD-3-Clause
#include "control/multicast/group_routes.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"

namespace verbline::multicast {
namespace {

constexpr InterfaceId lan{0}, ib{1}, dmz{2};
const auto group = link::gid_of(wire::ipv4(239, 1, 2, 3)), mdns = link::gid_of(wire::ipv4(224, 0, 0, 251));

/// The three ports, of which `ib` is on a subnet; what was said last.
class GroupRoutesTest : public testing::Test {
protected:
    std::size_t set(InterfaceId port, Side side, bool listening, const wire::Gid& of = group) {
        const auto actions = routes.set(of, port, side, listening);
        for (const auto& action : actions) {
            if (const auto* said = std::get_if<Route>(&action)) route = *said;
            if (const auto* use = std::get_if<Use>(&action)) uses[static_cast<std::size_t>(use->port)] = *use;
        }
        return actions.size();
    }
    PortSet hearers() const {
        return with([](const Use& use) { return use.hears; });
    }
    PortSet senders() const {
        return with([](const Use& use) { return use.sends; });
    }
    PortSet with(bool (*what)(const Use&)) const {
        PortSet set = 0;
        for (std::size_t i = 0; i < 3; ++i) set |= what(uses[i]) ? bit(static_cast<InterfaceId>(i)) : 0;
        return set;
    }

    GroupRoutes routes{{.ports = 3, .routed = bit(lan) | bit(ib) | bit(dmz), .subnets = bit(ib)}};
    Route route;
    Use uses[3];
};

TEST_F(GroupRoutesTest, AListenerIsSentToAndAllOthersAreHeard) {
    set(lan, Side::link, true);
    EXPECT_EQ(hearers(), bit(ib) | bit(dmz));
    EXPECT_EQ(senders(), bit(lan) | bit(ib)) << "on a subnet, others may be in what we are in";
    EXPECT_EQ(route, (Route{group, bit(lan) | bit(ib), 0}));
    set(dmz, Side::link, true);
    EXPECT_EQ(hearers(), bit(lan) | bit(ib) | bit(dmz));
    EXPECT_EQ(route.links, bit(lan) | bit(ib) | bit(dmz));
    set(lan, Side::link, false);
    EXPECT_EQ(hearers(), bit(lan) | bit(ib));
    set(dmz, Side::link, false);
    EXPECT_EQ(hearers() | senders() | route.links, 0u);
    EXPECT_EQ(routes.size(), 0u);
}

TEST_F(GroupRoutesTest, ASubnetsListenersAreNoReasonToHearThemselves) {
    set(ib, Side::fabric, true);
    EXPECT_EQ(hearers(), bit(lan) | bit(dmz));
    EXPECT_EQ(route, (Route{group, bit(ib), 0}));
    EXPECT_EQ(set(ib, Side::link, true), 0u) << "known";
    set(ib, Side::fabric, false);
    EXPECT_EQ(route.links, bit(ib));
    set(ib, Side::link, false);
    EXPECT_EQ(route.links, 0u);
}

TEST_F(GroupRoutesTest, AKernelHearsItsOwnLinkAndTheOthers) {
    set(lan, Side::kernel, true);
    EXPECT_EQ(hearers(), bit(lan) | bit(ib) | bit(dmz));
    EXPECT_EQ(route, (Route{group, bit(ib), bit(lan)}));
    set(lan, Side::kernel, false);
    EXPECT_EQ(hearers() | senders() | route.kernels, 0u);
}

TEST_F(GroupRoutesTest, LinkScopeGroupsAreJoinedForTheKernelOnly) {
    set(lan, Side::link, true, mdns);
    EXPECT_EQ(hearers() | senders(), 0u);
    set(ib, Side::kernel, true, mdns);
    EXPECT_EQ(hearers(), bit(ib));
    EXPECT_EQ(senders() | route.kernels, 0u);
}

TEST_F(GroupRoutesTest, APortIsRoutedAsLongAsItIsTold) {
    set(lan, Side::link, true);
    set(dmz, Side::kernel, true);
    set(ib, Side::kernel, true, mdns);
    const auto perform = [&](const RouteActions& actions) {
        for (const auto& action : actions) {
            if (const auto* said = std::get_if<Route>(&action)) route = *said;
            if (const auto* use = std::get_if<Use>(&action)) uses[static_cast<std::size_t>(use->port)] = *use;
        }
        return actions.size();
    };
    EXPECT_EQ(route, (Route{group, bit(lan) | bit(ib), bit(dmz)}));
    EXPECT_EQ(perform(routes.set_routed(ib, false)), 2u) << "of the group that is routed alone";
    EXPECT_EQ(uses[1], (Use{ib, group, false, false}));
    EXPECT_EQ(route, (Route{group, bit(lan), bit(dmz)}));
    EXPECT_EQ(perform(routes.set_routed(ib, false)), 0u);
    perform(routes.set_routed(lan, false));
    EXPECT_EQ(hearers(), bit(dmz)) << "its kernel alone is left";
    EXPECT_EQ(route, (Route{group, 0, bit(dmz)}));
    perform(routes.set_routed(lan, true));
    perform(routes.set_routed(ib, true));
    EXPECT_EQ(hearers(), bit(lan) | bit(ib) | bit(dmz)) << "as at first: listeners have stayed known";
    EXPECT_EQ(route, (Route{group, bit(lan) | bit(ib), bit(dmz)}));
}

TEST_F(GroupRoutesTest, PortsThatDoNotRouteHearWhatTheirKernelsDo) {
    GroupRoutes host({.ports = 1, .routed = 0, .subnets = bit(lan)});
    EXPECT_EQ(host.set(group, lan, Side::kernel, true), (RouteActions{Use{lan, group, true, false}}));
    EXPECT_TRUE(host.set(group, lan, Side::link, true).empty());
    EXPECT_EQ(host.set(group, lan, Side::kernel, false), (RouteActions{Use{lan, group, false, false}}));
}

}  // namespace
}  // namespace verbline::multicast

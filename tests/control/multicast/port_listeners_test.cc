// SPDX-License-Identifier: BSD-3-Clause
#include "control/multicast/port_listeners.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/neighbour/group_reports.h"

namespace verbline::multicast::over_port_listeners {
namespace {

const auto group = link::gid_of(wire::ipv4(239, 1, 2, 3)), group6 = wire::Gid::of(0xff0e'0000'0000'0000, wire::Guid{7});
const auto own6 = wire::Ipv6Address{wire::Gid::of(0xfe80'0000'0000'0000, wire::Guid{1}).bytes};

class PortListenersTest : public testing::Test {
protected:
    PortListeners::Setup setup(bool routes) {
        return {.routes = routes,
                .send =
                    [this](Side to, const wire::Gid& about, const neighbour::GroupPacket& packet) {
                        sent.emplace_back(to, about);
                        const auto read = neighbour::read_membership(packet.bytes);
                        EXPECT_TRUE(read && std::holds_alternative<neighbour::MembershipQuery>(*read));
                    },
                .changed = [this](const wire::Gid& of, Side side, bool in) { listening[{of, side}] = in; }};
    }
    std::size_t sent_to(Side side) {
        return static_cast<std::size_t>(std::ranges::count(sent, side, &std::pair<Side, wire::Gid>::first));
    }

    std::unique_ptr<control::Loop> loop = std::move(*control::Loop::create());
    std::vector<std::pair<Side, wire::Gid>> sent;
    std::map<std::pair<wire::Gid, Side>, bool> listening;
    neighbour::GroupReports host{1};
};

TEST_F(PortListenersTest, LinkAndKernelAreAskedApart) {
    PortListeners port(*loop, setup(true));
    EXPECT_TRUE(sent.empty()) << "it is down, and has no interface yet";
    port.set_up(true);
    EXPECT_EQ(sent_to(Side::link), 1u) << "of IPv4, from no address";
    EXPECT_EQ(sent_to(Side::kernel), 0u);
    port.set_addresses(wire::ipv4(10, 0, 0, 1), own6);
    EXPECT_EQ(sent_to(Side::kernel), 2u);
    EXPECT_EQ(sent_to(Side::link), 3u) << "again, and of IPv6";
    for (const auto side : {Side::link, Side::kernel}) {
        neighbour::GroupReports some{2};
        some.set_source({wire::ipv4(10, 0, 0, 2), own6}, loop->now());
        for (const auto& gid : {group, group6})
            for (const auto& packet : some.join(gid, loop->now())) port.received(side, packet.bytes);
        EXPECT_TRUE((listening[{group, side}]));
        EXPECT_TRUE((listening[{group6, side}]));
    }
    EXPECT_EQ(port.show().size(), 4u);
    port.set_up(false);
    EXPECT_FALSE((listening[{group, Side::link}]));
    EXPECT_TRUE((listening[{group, Side::kernel}]));
}

TEST_F(PortListenersTest, WithoutRoutesTheKernelAloneIsHeard) {
    PortListeners port(*loop, setup(false));
    port.set_up(true);
    port.set_addresses(wire::ipv4(10, 0, 0, 1), own6);
    EXPECT_EQ(sent_to(Side::link), 0u);
    for (const auto& packet : host.join(group, loop->now())) {
        port.received(Side::link, packet.bytes);
        EXPECT_TRUE(listening.empty());
        port.received(Side::kernel, packet.bytes);
    }
    EXPECT_TRUE((listening[{group, Side::kernel}]));
}

TEST_F(PortListenersTest, LinkIsAskedAsLongAsGroupsAreRouted) {
    PortListeners port(*loop, setup(false));
    port.set_up(true);
    port.set_addresses(wire::ipv4(10, 0, 0, 1), own6);
    port.set_routes(true);
    EXPECT_EQ(sent_to(Side::link), 2u) << "a query of each family";
    for (const auto side : {Side::link, Side::kernel}) {
        neighbour::GroupReports some{2};
        some.set_source({wire::ipv4(10, 0, 0, 2), own6}, loop->now());
        for (const auto& packet : some.join(group, loop->now())) port.received(side, packet.bytes);
        EXPECT_TRUE((listening[{group, side}]));
    }
    port.set_routes(true);
    EXPECT_EQ(sent_to(Side::link), 2u) << "nothing has changed";
    port.set_routes(false);
    EXPECT_FALSE((listening[{group, Side::link}]));
    EXPECT_TRUE((listening[{group, Side::kernel}])) << "whose groups are received all the same";
    EXPECT_EQ(port.show().size(), 1u);
    port.set_addresses(wire::ipv4(10, 0, 0, 3), own6);
    EXPECT_EQ(sent_to(Side::link), 2u) << "it asks no more";
}

}  // namespace
}  // namespace verbline::multicast::over_port_listeners

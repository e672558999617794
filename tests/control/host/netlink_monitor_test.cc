// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/netlink_monitor.h"

#include "datapath/link/ip_gid.h"
#include "tests/control/host/netlink_namespace.h"

namespace verbline::host {
namespace {

TEST_F(NetlinkTest, TellsChangesAsEvents) {
    Follower follower(inside->path(), lan, ib0);
    follower.catch_up();
    ASSERT_EQ(follower.count<Synced>(), 1u);
    EXPECT_EQ(follower.count<Resync>(), 0u) << "once is enough";
    follower.events.clear();

    ASSERT_TRUE(configure(*netlink, {.name = "lan", .mtu = 1400, .addresses = {own("10.1.0.1/24")}}));
    follower.catch_up();
    // The kernel's own IPv6 link-local address comes now, or later.
    const auto is_ours = [](const AddressAdded& e) { return e.address == own("10.1.0.1/24"); };
    EXPECT_EQ(follower.count<AddressAdded>(is_ours), 1u);
    EXPECT_GE(follower.count<LinkChanged>([&](const LinkChanged& e) { return e.link.up && e.link.mtu == 1400; }), 1u);
    EXPECT_EQ(follower.lookup(ipv4(10, 1, 0, 1)), NextHop{.kind = NextHop::Kind::local});
    EXPECT_EQ(follower.lookup(ipv4(10, 1, 0, 9)), (NextHop{NextHop::Kind::on_link, InterfaceId{0}}));

    inside->run("ip route add 10.5.0.0/16 via 10.1.0.2 metric 5");
    follower.catch_up();
    EXPECT_EQ(follower.count<RouteAdded>([](const RouteAdded& e) {
        return e.route.prefix == Ipv4Prefix{ipv4(10, 5, 0, 0), 16} && e.route.metric == 5 &&
               e.route.hops.at(0).gateway == ipv4(10, 1, 0, 2);
    }),
              1u);
    EXPECT_EQ(follower.count<Resync>(), 0u);

    tuns.erase("lan");  // and with its descriptor the interface
    follower.catch_up();
    EXPECT_EQ(follower.count<LinkRemoved>([&](const LinkRemoved& e) { return e.ifindex == lan; }), 1u);
    EXPECT_FALSE(follower.lookup(ipv4(10, 1, 0, 9)));
    EXPECT_FALSE(follower.lookup(ipv4(10, 1, 0, 1)));
    EXPECT_FALSE(follower.lookup(ipv4(10, 5, 0, 1)));
}

TEST_F(NetlinkTest, NoticesRoutesThatVanishWithoutAWord) {
    ASSERT_TRUE(configure(*netlink, {.name = "lan", .addresses = {own("10.1.0.1/24"), own("10.9.0.1/32")}}));
    Follower follower(inside->path(), lan, ib0);
    inside->run("ip route add 10.5.0.0/16 via 10.1.0.2");
    inside->run("ip route add 10.6.0.0/16 via 10.1.0.2 src 10.9.0.1");
    inside->run("ip nexthop add id 7 via 10.1.0.3 dev lan");
    inside->run("ip route add 10.7.0.0/16 nhid 7");
    follower.catch_up();
    EXPECT_TRUE(follower.lookup(ipv4(10, 5, 0, 1)) && follower.lookup(ipv4(10, 6, 0, 1)));
    EXPECT_EQ(follower.lookup(ipv4(10, 7, 0, 1)), (NextHop{NextHop::Kind::via, InterfaceId{0}, ipv4(10, 1, 0, 3)}));

    inside->run("ip nexthop replace id 7 via 10.1.0.4 dev lan");
    follower.catch_up();
    EXPECT_EQ(follower.lookup(ipv4(10, 7, 0, 1)), (NextHop{NextHop::Kind::via, InterfaceId{0}, ipv4(10, 1, 0, 4)}));
    inside->run("ip nexthop del id 7");
    follower.catch_up();
    EXPECT_FALSE(follower.lookup(ipv4(10, 7, 0, 1)));

    inside->run("ip address del 10.9.0.1/32 dev lan");
    follower.catch_up();
    EXPECT_FALSE(follower.lookup(ipv4(10, 6, 0, 1)));
    inside->run("ip link set lan down");
    inside->run("ip link set lan up");
    follower.catch_up();
    EXPECT_FALSE(follower.lookup(ipv4(10, 5, 0, 1))) << "a static route does not come back by itself";
    EXPECT_TRUE(follower.lookup(ipv4(10, 1, 0, 9))) << "the subnet's does";
}

TEST_F(NetlinkTest, FollowsRoutesThatNameNothingButANextHopObject) {
    ASSERT_TRUE(configure(*netlink, {.name = "lan", .addresses = {own("10.1.0.1/24")}}));
    ASSERT_TRUE(configure(*netlink, {.name = "ib0", .addresses = {own("10.2.0.1/24")}}));
    inside->run("sh -c 'echo 0 >/proc/sys/net/ipv4/nexthop_compat_mode'");
    batch("nexthop add id 1 via 10.1.0.2 dev lan\nnexthop add id 2 via 10.2.0.2 dev ib0\n");
    Follower follower(inside->path(), lan, ib0);
    follower.catch_up();
    batch(
        "nexthop add id 9 group 1,2/2,5\nroute add 10.7.0.0/16 nhid 9\nnexthop add id 5 blackhole\n"
        "route add 10.8.0.0/16 nhid 5\n");
    follower.catch_up();
    const NextHop by_lan{NextHop::Kind::via, InterfaceId{0}, ipv4(10, 1, 0, 2)},
        by_ib0{NextHop::Kind::via, InterfaceId{1}, ipv4(10, 2, 0, 2)};
    using Members = std::vector<forward::NextHopGroup::Member>;
    EXPECT_EQ(follower.lookup(ipv4(10, 7, 0, 1)), forward::NextHopGroup(Members{{by_lan, 2}, {by_ib0, 5}}));
    EXPECT_EQ(follower.lookup(ipv4(10, 8, 0, 1)), NextHop{.kind = NextHop::Kind::blackhole});
    inside->run("ip nexthop replace id 9 group 1,2/2,6");
    follower.catch_up();
    EXPECT_EQ(follower.lookup(ipv4(10, 7, 0, 1)), forward::NextHopGroup(Members{{by_lan, 2}, {by_ib0, 6}}));
    inside->run("ip nexthop del id 2");
    follower.catch_up();
    EXPECT_EQ(follower.lookup(ipv4(10, 7, 0, 1)), by_lan);
}

TEST_F(NetlinkTest, NoticesHopsThatDieAndComeBackWithoutAWord) {
    ASSERT_TRUE(configure(*netlink, {.name = "lan", .addresses = {own("10.1.0.1/24")}}));
    ASSERT_TRUE(configure(*netlink, {.name = "ib0", .addresses = {own("10.2.0.1/24")}}));
    Follower follower(inside->path(), lan, ib0);
    inside->run("ip route add 10.7.0.0/16 nexthop via 10.1.0.2 nexthop via 10.2.0.2 weight 3");
    follower.catch_up();
    const NextHop by_lan{NextHop::Kind::via, InterfaceId{0}, ipv4(10, 1, 0, 2)},
        by_ib0{NextHop::Kind::via, InterfaceId{1}, ipv4(10, 2, 0, 2)};
    const forward::NextHopGroup both(std::vector<forward::NextHopGroup::Member>{{by_lan, 1}, {by_ib0, 3}});
    EXPECT_EQ(follower.lookup(ipv4(10, 7, 0, 1)), both);
    inside->run("ip link set lan down");
    follower.catch_up();
    EXPECT_EQ(follower.lookup(ipv4(10, 7, 0, 1)), by_ib0);
    inside->run("ip link set lan up");
    follower.catch_up();
    EXPECT_EQ(follower.lookup(ipv4(10, 7, 0, 1)), both);
}

TEST_F(NetlinkTest, NoticesNextHopObjectsThatVanishWithTheCarrier) {
    ASSERT_TRUE(configure(*netlink, {.name = "lan", .addresses = {own("10.1.0.1/24")}}));
    Follower follower(inside->path(), lan, ib0);
    batch("nexthop add id 1 via 10.1.0.2 dev lan\nroute add 10.7.0.0/16 nhid 1\nroute add 10.8.0.0/16 via 10.1.0.2\n");
    follower.catch_up();
    EXPECT_TRUE(follower.lookup(ipv4(10, 7, 0, 1)) && follower.lookup(ipv4(10, 8, 0, 1)));
    int carrier = 0;
    ASSERT_EQ(ioctl(tuns["lan"].get(), TUNSETCARRIER, &carrier), 0);
    // The kernel tells of a carrier in a thread of its own.
    for (int i = 0; i < 200 && follower.lookup(ipv4(10, 7, 0, 1)); ++i) {
        usleep(10'000);
        follower.catch_up();
    }
    EXPECT_FALSE(follower.lookup(ipv4(10, 7, 0, 1)));
    EXPECT_TRUE(follower.lookup(ipv4(10, 8, 0, 1))) << "a route without an object stays";
}

TEST_F(NetlinkTest, PausesBetweenDumps) {
    Follower follower(inside->path(), lan, ib0);
    follower.catch_up();
    auto& monitor = *follower.monitor;
    auto now = follower.now + second;
    const auto hear = [&] {
        pollfd ready{.fd = monitor.fd(), .events = POLLIN};
        while (poll(&ready, 1, 0) == 1) ASSERT_TRUE(monitor.receive(now));
    };
    const auto flap = [&] {
        for (const bool up : {true, false}) {
            ASSERT_TRUE(netlink->set_up(lan, up));
            hear();
        }
    };
    const auto dumps = [&] { return monitor.counters().netlink_dumps.value(); };
    const auto before = dumps();
    flap();
    EXPECT_EQ(dumps(), before + 1) << "after a pause one begins at once";
    for (int i = 0; i < 5; ++i) flap();
    EXPECT_EQ(dumps(), before + 1);
    ASSERT_TRUE(monitor.deadline());
    now = *monitor.deadline();
    EXPECT_TRUE(monitor.receive(now));
    hear();
    EXPECT_EQ(dumps(), before + 2) << "one for all";
    EXPECT_FALSE(monitor.deadline());
}

TEST_F(NetlinkTest, TellsADumpFromOthersChangesOfTheSameSequenceNumber) {
    ASSERT_TRUE(configure(*netlink, {.name = "lan", .addresses = {own("10.1.0.1/24")}}));
    Follower follower(inside->path(), lan, ib0);
    auto another = Netlink::open(inside->path());  // libnl begins to count at the time in seconds: as the monitor did
    const auto to = own("10.5.0.0/16");
    ASSERT_TRUE(add_static_route(*netlink, {.to = to, .via = link::gid_of(ipv4(10, 1, 0, 2))}));
    ASSERT_TRUE(add_static_route(*another, {.to = to, .via = link::gid_of(ipv4(10, 1, 0, 3))}));
    follower.catch_up();
    EXPECT_EQ(follower.lookup(ipv4(10, 5, 0, 1)), (NextHop{NextHop::Kind::via, InterfaceId{0}, ipv4(10, 1, 0, 3)}));
}

TEST_F(NetlinkTest, ResyncDropsStaleRoutes) {
    ASSERT_TRUE(configure(*netlink, {.name = "lan", .addresses = {own("10.1.0.1/24")}}));
    Follower follower(inside->path(), lan, ib0);
    ASSERT_TRUE(add_static_route(*netlink, {.to = own("10.5.0.0/16"), .via = link::gid_of(ipv4(10, 1, 0, 2))}));
    ASSERT_TRUE(netlink->set_up(lan, false) && netlink->set_up(lan, true));
    follower.catch_up();
    EXPECT_FALSE(follower.lookup(ipv4(10, 5, 0, 1))) << "heard of before it vanished";
    EXPECT_EQ(follower.count<Resync>(), 1u);
    EXPECT_EQ(follower.count<Synced>(), 1u);
}

TEST_F(NetlinkTest, HearsEverythingAgainHoweverManyMessagesWait) {
    ASSERT_TRUE(configure(*netlink, {.name = "lan", .addresses = {own("10.1.0.1/24")}}));
    Follower follower(inside->path(), lan, ib0);
    for (unsigned waiting = 60; waiting < 68; ++waiting) {  // about as many as one call reads
        inside->run("ip nexthop add id 7 via 10.1.0.3 dev lan");
        inside->run("ip route add 10.7.0.0/16 nhid 7");
        follower.catch_up();
        EXPECT_TRUE(follower.lookup(ipv4(10, 7, 0, 1)));
        std::string commands;
        for (unsigned i = 0; i < waiting; ++i) commands += fmt::format("route replace 20.{}.0.0/16 via 10.1.0.2\n", i);
        batch(commands + "nexthop del id 7\n");
        follower.catch_up();
        EXPECT_FALSE(follower.lookup(ipv4(10, 7, 0, 1))) << waiting;
        batch("route flush root 20.0.0.0/8");
        follower.catch_up();
    }
}

TEST_F(NetlinkTest, HearsEverythingAgainWhenMessagesWereLost) {
    ASSERT_TRUE(configure(*netlink, {.name = "lan", .addresses = {own("10.1.0.1/24")}}));
    Follower follower(inside->path(), lan, ib0);
    follower.catch_up();
    constexpr unsigned routes = 20'000;  // more than the socket holds messages
    std::string commands;
    for (unsigned i = 0; i < routes; ++i)
        commands += fmt::format("route add 20.{}.{}.0/24 via 10.1.0.2\n", i / 256, i % 256);
    batch(commands);
    follower.catch_up();
    EXPECT_GE(follower.monitor->counters().netlink_rx_overruns.value(), 1u);
    EXPECT_GE(follower.count<Resync>(), 1u);
    EXPECT_TRUE(std::holds_alternative<Synced>(follower.events.back()));
    EXPECT_EQ(std::ranges::count_if(follower.fib, [](const auto& entry) { return entry.first.length == 24; }),
              routes + 1);
}

}  // namespace
}  // namespace verbline::host

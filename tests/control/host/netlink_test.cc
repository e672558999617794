// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/netlink.h"

#include "datapath/link/ip_gid.h"
#include "tests/control/host/netlink_namespace.h"
#include "tests/support/ipv6.h"

namespace verbline::host {
namespace {

TEST_F(NetlinkTest, ConfiguresAnInterface) {
    const KernelInterface wanted{.name = "lan", .mtu = 2044, .addresses = {own("10.1.0.1/24"), own("10.1.9.1/24")}};
    for (int i = 0; i < 2; ++i) {
        const auto done = configure(*netlink, wanted);
        ASSERT_TRUE(done) << done.error().what << ", time " << i;
        EXPECT_EQ(*done, lan);
    }
    const auto shown = nlohmann::json::parse(ip("-j -4 address show dev lan"));
    EXPECT_EQ(shown[0]["mtu"], 2044);
    ASSERT_EQ(shown[0]["addr_info"].size(), 2u);
    EXPECT_EQ(shown[0]["addr_info"][0]["local"], "10.1.0.1");
    EXPECT_EQ(shown[0]["addr_info"][0]["prefixlen"], 24);
    const auto link = netlink->link("lan");
    ASSERT_TRUE(link);
    EXPECT_TRUE(link->up);
    EXPECT_EQ(link->mtu, 2044u);
    ASSERT_TRUE(netlink->set_up(lan, false));
    EXPECT_FALSE(netlink->link("lan")->up);
}

TEST_F(NetlinkTest, TellsAtOnceThatPacketsDoNotPass) {
    ASSERT_TRUE(netlink->set_up(lan, true));
    const auto set_carrier = [this](unsigned carrier) {
        ASSERT_EQ(ioctl(tuns["lan"].get(), TUNSETCARRIER, &carrier), 0);
        ASSERT_TRUE(netlink->set_running(lan, carrier == 1));
    };
    auto follower = *NetlinkSocket::open(inside->path());
    ASSERT_TRUE(follower.subscribe(RTNLGRP_LINK));
    const auto last_told = [&]() -> std::optional<unsigned> {  // without waiting
        std::optional<unsigned> flags;
        const auto hear = [&](nlmsghdr& message) {
            const auto* link = static_cast<const ifinfomsg*>(NLMSG_DATA(&message));
            if (message.nlmsg_type == RTM_NEWLINK && link->ifi_index == lan) flags = link->ifi_flags;
        };
        while (*follower.receive(hear) == NetlinkSocket::Outcome::read) continue;
        return flags;
    };
    for (int i = 0; i < 3; ++i) {
        set_carrier(0);
        EXPECT_EQ(last_told().value_or(0) & (IFF_UP | IFF_RUNNING | IFF_LOWER_UP), IFF_UP) << "time " << i;
        set_carrier(1);
        EXPECT_EQ(last_told().value_or(0) & (IFF_UP | IFF_RUNNING | IFF_LOWER_UP), IFF_UP | IFF_RUNNING | IFF_LOWER_UP)
            << "time " << i;
    }
}

TEST_F(NetlinkTest, ConfiguresIpv6Addresses) {
    const KernelInterface wanted{.name = "lan", .addresses = {own("fd76:1::1/64"), own("10.1.0.1/24")}};
    for (int i = 0; i < 2; ++i) {
        const auto done = configure(*netlink, wanted);
        ASSERT_TRUE(done) << done.error().what << ", time " << i;
    }
    const auto shown = nlohmann::json::parse(ip("-j -6 address show dev lan"));
    std::vector<std::string> addresses;
    for (const auto& address : shown.at(0)["addr_info"]) {
        if (address["scope"] == "global")
            addresses.push_back(
                fmt::format("{}/{}", address["local"].get<std::string>(), address["prefixlen"].get<int>()));
    }
    EXPECT_EQ(addresses, std::vector<std::string>{"fd76:1::1/64"});
    Follower follower(inside->path(), lan, ib0);
    follower.catch_up();
    EXPECT_EQ(follower.lookup(test::ipv6("fd76:1::9")), (forward::Ipv6NextHop{NextHop::Kind::on_link, InterfaceId{0}}));

    ASSERT_TRUE(netlink->set_mtu(ib0, 1000));
    const auto small = configure(*netlink, {.name = "ib0", .addresses = {own("fd76:2::1/64")}});
    ASSERT_FALSE(small) << "RFC 8200, 5";
    EXPECT_TRUE(small.error().what.starts_with("interface ib0: cannot add address fd76:2::1/64: "))
        << small.error().what;
}

TEST_F(NetlinkTest, ErrorsNameInterfaceAndReason) {
    const auto missing = configure(*netlink, {.name = "nowhere"});
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ENODEV);
    EXPECT_EQ(missing.error().what, "no interface nowhere: No such device");

    const auto large = configure(*netlink, {.name = "lan", .mtu = 1 << 20});
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().what, "interface lan: cannot set the MTU to 1048576: mtu greater than device maximum");

    const auto lost = add_static_route(*netlink, {.to = own("10.5.0.0/16"), .via = link::gid_of(ipv4(10, 99, 0, 1))});
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().what,
              "cannot add the route to 10.5.0.0/16 via 10.99.0.1: Nexthop has invalid gateway "
              "(the gateway must be a neighbour on an interface that is up)");
}

TEST_F(NetlinkTest, AddsRoutesOnce) {
    ASSERT_TRUE(configure(*netlink, {.name = "lan", .addresses = {own("10.1.0.1/24")}}));
    const StaticRoute route{.to = own("10.5.0.0/16"), .via = link::gid_of(ipv4(10, 1, 0, 2)), .metric = 7};
    ASSERT_TRUE(add_static_route(*netlink, route));
    ASSERT_TRUE(add_static_route(*netlink, route)) << "again";
    const auto shown = nlohmann::json::parse(ip("-j route show 10.5.0.0/16"));
    ASSERT_EQ(shown.size(), 1u);
    EXPECT_EQ(shown[0]["gateway"], "10.1.0.2");
    EXPECT_EQ(shown[0]["dev"], "lan");
    EXPECT_EQ(shown[0]["metric"], 7);
    EXPECT_EQ(shown[0]["protocol"], "static");
}

TEST_F(NetlinkTest, RemovesStaticRoutesAsTheyWereAdded) {
    ASSERT_TRUE(configure(*netlink, {.name = "lan", .addresses = {own("10.1.0.1/24"), own("fd76:1::1/64")}}));
    for (const auto& route :
         {StaticRoute{.to = own("10.5.0.0/16"), .via = link::gid_of(ipv4(10, 1, 0, 2))},
          StaticRoute{.to = own("fd76:5::/48"), .via = link::gid_of(test::ipv6("fd76:1::2"))},
          StaticRoute{.to = own("10.6.0.0/16"), .via = link::gid_of(test::ipv6("fd76:1::2")), .ifindex = lan}}) {
        const auto shown = [&] {
            return ip((link::ipv4_of(route.to.gid) ? "-4" : "-6") + (" route show " + to_string(route.to)));
        };
        ASSERT_TRUE(add_static_route(*netlink, route));
        ASSERT_FALSE(shown().empty());
        auto other = route;
        other.via = link::gid_of(test::ipv6("fd76:1::9"));
        EXPECT_TRUE(remove_static_route(*netlink, other)) << "it is not there";
        EXPECT_FALSE(shown().empty());
        const auto removed = remove_static_route(*netlink, route);
        EXPECT_TRUE(removed) << removed.error().what;
        EXPECT_TRUE(shown().empty()) << shown();
    }
}

TEST_F(NetlinkTest, AddsAndRemovesRoutesToHosts) {
    ASSERT_TRUE(configure(*netlink, {.name = "lan", .addresses = {own("10.1.0.1/24")}}));
    const auto host = link::gid_of(ipv4(10, 1, 0, 7));
    const auto shown = [&] { return nlohmann::json::parse(ip("-j route show 10.1.0.7/32")); };
    ASSERT_TRUE(netlink->add_host_route(lan, host));
    ASSERT_TRUE(netlink->add_host_route(lan, host)) << "again";
    ASSERT_EQ(shown().size(), 1U);
    EXPECT_EQ(shown()[0]["dev"], "lan");
    EXPECT_EQ(shown()[0]["scope"], "link");
    EXPECT_TRUE(netlink->remove_host_route(lan, host));
    EXPECT_TRUE(netlink->remove_host_route(lan, host)) << "it is not there";
    EXPECT_TRUE(shown().empty());

    const auto ipv6 = wire::Gid::of(0xfd76'0001'0000'0000, wire::Guid{7});
    ASSERT_TRUE(netlink->add_host_route(lan, ipv6));
    EXPECT_EQ(nlohmann::json::parse(ip("-6 -j route show fd76:1::7/128")).size(), 1U);
    EXPECT_TRUE(netlink->remove_host_route(lan, ipv6));
    EXPECT_TRUE(nlohmann::json::parse(ip("-6 -j route show fd76:1::7/128")).empty());
    EXPECT_FALSE(netlink->add_host_route(4711, host));
}

TEST_F(NetlinkTest, AddsIpv6Routes) {
    ASSERT_TRUE(configure(*netlink, {.name = "lan", .addresses = {own("fd76:1::1/64")}}));
    const auto gateway = link::gid_of(test::ipv6("fd76:1::2")), link_local = link::gid_of(test::ipv6("fe80::2"));
    const auto shown = [&](const std::string& route) { return nlohmann::json::parse(ip("-j " + route)); };
    for (int i = 0; i < 2; ++i) {
        const auto added = add_static_route(*netlink, {.to = own("fd76:3::/48"), .via = gateway});
        ASSERT_TRUE(added) << added.error().what << ", time " << i;
    }
    const auto global = shown("-6 route show fd76:3::/48");
    ASSERT_EQ(global.size(), 1u);
    EXPECT_EQ(global[0]["gateway"], "fd76:1::2");
    EXPECT_EQ(global[0]["protocol"], "static");

    ASSERT_TRUE(add_static_route(*netlink, {.to = own("::/0"), .via = link_local, .ifindex = lan}));
    EXPECT_EQ(shown("-6 route show default")[0]["gateway"], "fe80::2");

    ASSERT_TRUE(add_static_route(*netlink, {.to = own("10.4.0.0/16"), .via = gateway, .ifindex = lan}));
    ASSERT_TRUE(add_static_route(*netlink, {.to = own("10.6.0.0/16"), .via = gateway})) << "the kernel finds the link";
    for (const auto* network : {"10.4.0.0/16", "10.6.0.0/16"}) {
        const auto mixed = shown(std::string("-4 route show ") + network);
        ASSERT_EQ(mixed.size(), 1u);
        EXPECT_EQ(mixed[0]["via"]["host"], "fd76:1::2");
        EXPECT_EQ(mixed[0]["dev"], "lan");
    }

    const auto lost =
        add_static_route(*netlink, {.to = own("fd76:5::/48"), .via = link::gid_of(test::ipv6("fd99::1"))});
    ASSERT_FALSE(lost);
    EXPECT_TRUE(lost.error().what.starts_with("cannot add the route to fd76:5::/48 via fd99::1: "))
        << lost.error().what;
    EXPECT_TRUE(lost.error().what.ends_with("(the gateway must be a neighbour on an interface that is up)"));
}

TEST_F(NetlinkTest, DumpsLinksAddressesAndRoutes) {
    ASSERT_TRUE(configure(*netlink, {.name = "lan", .addresses = {own("10.1.0.1/24")}}));
    const auto events = netlink->list();
    ASSERT_TRUE(events);
    const auto has = [&](const auto& like) { return std::ranges::any_of(*events, like); };
    EXPECT_TRUE(has([&](const KernelEvent& event) {
        const auto* link = std::get_if<LinkChanged>(&event);
        return link && link->link.name == "lan" && link->link.ifindex == lan && link->link.up;
    }));
    EXPECT_TRUE(has([&](const KernelEvent& event) {
        const auto* added = std::get_if<AddressAdded>(&event);
        return added && added->ifindex == lan &&
               added->address == link::InterfaceAddress{link::gid_of(ipv4(10, 1, 0, 1)), 24};
    }));
    EXPECT_TRUE(has([&](const KernelEvent& event) {
        const auto* added = std::get_if<RouteAdded>(&event);
        return added && added->route.prefix == Ipv4Prefix{ipv4(10, 1, 0, 255), 32} &&
               added->route.type == RTN_BROADCAST;
    }));
}

TEST_F(NetlinkTest, WorksInTheNamespaceItWasOpenedIn) {
    EXPECT_TRUE(netlink->link("lan")) << "which is not this thread's";
    auto here = Netlink::open("");
    ASSERT_TRUE(here);
    EXPECT_NE(here->link("lan").value_or(Link{}).ifindex, lan);
    EXPECT_FALSE(Netlink::open("no-such-namespace"));
    EXPECT_FALSE(NetlinkMonitor::open("no-such-namespace"));
}

}  // namespace
}  // namespace verbline::host

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

TEST_F(NetlinkTest, SaysInOneLineWhatIsWrong) {
    const auto missing = configure(*netlink, {.name = "nowhere"});
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ENODEV);
    EXPECT_EQ(missing.error().what, "no interface nowhere: No such device");

    const auto large = configure(*netlink, {.name = "lan", .mtu = 1 << 20});
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().what, "interface lan: cannot set the MTU to 1048576: mtu greater than device maximum");

    const auto lost = add_static_route(*netlink, {.to = {ipv4(10, 5, 0, 0), 16}, .via = ipv4(10, 99, 0, 1)});
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().what,
              "cannot add the route to 10.5.0.0/16 via 10.99.0.1: Nexthop has invalid gateway "
              "(the gateway must be a neighbour on an interface that is up)");
}

TEST_F(NetlinkTest, AddsRoutesOnce) {
    ASSERT_TRUE(configure(*netlink, {.name = "lan", .addresses = {own("10.1.0.1/24")}}));
    const StaticRoute route{.to = {ipv4(10, 5, 0, 0), 16}, .via = ipv4(10, 1, 0, 2), .metric = 7};
    ASSERT_TRUE(add_static_route(*netlink, route));
    ASSERT_TRUE(add_static_route(*netlink, route)) << "again";
    const auto shown = nlohmann::json::parse(ip("-j route show 10.5.0.0/16"));
    ASSERT_EQ(shown.size(), 1u);
    EXPECT_EQ(shown[0]["gateway"], "10.1.0.2");
    EXPECT_EQ(shown[0]["dev"], "lan");
    EXPECT_EQ(shown[0]["metric"], 7);
    EXPECT_EQ(shown[0]["protocol"], "static");
}

TEST_F(NetlinkTest, ListsWhatThereIs) {
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

// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/kernel_changes.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/control/host/netlink_namespace.h"

namespace verbline::gateway {
namespace {

using host::own;

/// Ports lan and ib0 in a kernel of their own, configured as `running` says.
class KernelChangesTest : public host::NetlinkTest {
protected:
    void SetUp() override {
        NetlinkTest::SetUp();
        if (!netlink) return;
        ifindexes = {lan, ib0};
        running = {.file = "gw.toml",
                   .name = "gw",
                   .netns = "",
                   .ports = {},
                   .routes = {route("10.3.0.0/16", "10.2.0.7"), route("10.4.0.0/16", "10.2.0.8")}};
        running.ports.push_back({.name = "lan", .addresses = {own("10.1.0.1/24")}, .lines = {}});
        running.ports.push_back({.name = "ib0", .addresses = {own("10.2.0.1/24")}, .lines = {}});
        for (const auto& port : running.ports)
            ASSERT_TRUE(host::configure(*netlink, {.name = port.name, .addresses = port.addresses}));
        for (const auto& each : running.routes) ASSERT_TRUE(set_route(*netlink, running, each));
        wanted = running;
    }
    static RouteConfig route(std::string_view to, std::string_view via, std::string port = {}) {
        return {.to = own(to), .via = own(std::string(via) + "/32").gid, .port = std::move(port), .line = 9};
    }
    Result<void> make() {
        const auto changes = changes_between(running, wanted);
        return changes ? KernelChanges(*netlink, running, ifindexes).make(*changes, wanted)
                       : std::unexpected(changes.error());
    }
    /// Addresses and routes, as the kernel lists them.
    std::string kernel() const { return ip("-brief -4 address show") + ip("route show"); }

    std::vector<int> ifindexes;
    GatewayConfig running, wanted;
};

TEST_F(KernelChangesTest, MakesAllOfThem) {
    wanted.ports[0].addresses.push_back(own("10.9.0.1/24"));
    wanted.routes = {route("10.3.0.0/16", "10.9.0.2"), route("10.5.0.0/16", "10.2.0.7", "ib0")};
    const auto made = make();
    ASSERT_TRUE(made) << made.error().what;
    EXPECT_NE(ip("-brief address show lan").find("10.9.0.1/24"), std::string::npos);
    EXPECT_EQ(ip("route show 10.3.0.0/16"), "10.3.0.0/16 via 10.9.0.2 dev lan proto static \n");
    EXPECT_EQ(ip("route show 10.5.0.0/16"), "10.5.0.0/16 via 10.2.0.7 dev ib0 proto static \n");
    EXPECT_EQ(ip("route show 10.4.0.0/16"), "");
}

TEST_F(KernelChangesTest, MakesNoneIfOneIsRefused) {
    const auto before = kernel();
    wanted.ports[0].addresses = {own("10.1.0.9/24")};
    wanted.routes = {route("10.3.0.0/16", "10.2.0.9"), route("10.6.0.0/16", "192.0.2.1")};
    const auto made = make();
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().what.find("gw.toml:9: cannot add the route to 10.6.0.0/16 via 192.0.2.1: "), 0u)
        << made.error().what;
    EXPECT_EQ(kernel(), before);
}

/// The kernel deletes what came later to the network of an IPv4 address with it.
TEST_F(KernelChangesTest, AnAddressGivesItsPlaceToAnotherOfItsNetwork) {
    wanted.ports[1].addresses = {own("10.2.0.9/24")};
    ASSERT_TRUE(make());
    EXPECT_NE(ip("-brief address show ib0").find("10.2.0.9/24"), std::string::npos);
    EXPECT_EQ(ip("-brief address show ib0").find("10.2.0.1/24"), std::string::npos);
    EXPECT_EQ(ip("route show 10.3.0.0/16"), "10.3.0.0/16 via 10.2.0.7 dev ib0 proto static \n");
}

/// A route that a daemon has put in the place of ours is not ours to remove.
TEST_F(KernelChangesTest, LeavesRoutesOfOthersAlone) {
    ip("route replace 10.4.0.0/16 via 10.1.0.2 proto bgp");
    wanted.routes.pop_back();
    ASSERT_TRUE(make());
    EXPECT_NE(ip("route show 10.4.0.0/16").find("proto bgp"), std::string::npos);
}

/// Removal goes by what the kernel has: where a route is wrong, its removal is an error as well.
TEST_F(KernelChangesTest, TakesBackARemovedAddress) {
    const auto before = kernel();
    wanted.ports[1].addresses = {own("10.8.0.1/24")};  // its gateways are on no link then
    const auto made = make();
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().what.find("gw.toml:9: cannot add the route to 10.3.0.0/16"), 0u) << made.error().what;
    EXPECT_EQ(kernel(), before);
}

}  // namespace
}  // namespace verbline::gateway

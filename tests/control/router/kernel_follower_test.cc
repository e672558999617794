// SPDX-License-Identifier: BSD-3-Clause
// The kernel in a namespace of its own; what is done about its changes is the test.
#include "control/router/kernel_follower.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "tests/control/host/netlink_namespace.h"
#include "tests/support/fib_readers.h"

namespace verbline::router {
namespace {

constexpr auto lan_port = forward::InterfaceId{0};
constexpr wire::Ipv4Prefix host_prefix{wire::ipv4(10, 1, 0, 20), 32};

struct KernelFollowerTest : host::NetlinkTest {
    void SetUp() override {
        NetlinkTest::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        ip("link set lan up"), ip("address add 10.1.0.1/24 dev lan"), ip("address add 10.2.0.1/24 dev lan");
        fib = *forward::Fib::create({.max_routes = 64, .max_long = 64}, *readers);
        ipv6_fib = *forward::Ipv6Fib::create({.max_routes = 64, .max_long = 256}, *readers);
        follower = *KernelFollower::open(
            *loop, inside->path(), {*fib, *ipv6_fib, ipv6_gateways},
            [this](forward::InterfaceId, const host::InterfaceState& state) { on_interface(state); });
        follower->attach(lan, lan_port);
    }
    /// Runs the loop until it is so, or for five seconds.
    template <class So>
    bool soon(So so) {
        for (const auto end = loop->now() + 5 * second; !so() && loop->now() < end;) loop->run_once(10 * millisecond);
        return so();
    }
    bool has(const wire::Ipv4Prefix& prefix) const {
        return std::ranges::any_of(fib->routes(), [&](const auto& route) { return route.prefix == prefix; });
    }

    std::unique_ptr<control::Loop> loop = std::move(*control::Loop::create());
    test::FibReaders readers = test::fib_readers();
    std::unique_ptr<forward::Fib> fib;
    std::unique_ptr<forward::Ipv6Fib> ipv6_fib;
    host::Ipv6Gateways ipv6_gateways;
    std::function<void(const host::InterfaceState&)> on_interface = [](const auto&) {};
    std::unique_ptr<KernelFollower> follower;
};

/// The kernel's message about the address makes the follower list all routes again: in that list is the one that is
/// removed when the address is found to be gone.
TEST_F(KernelFollowerTest, CatchesUpInOrderWithinItsOwnReports) {
    ASSERT_TRUE(netlink->add_host_route(lan, link::gid_of(host_prefix.address)));
    ASSERT_TRUE(soon([&] { return has(host_prefix); }));
    bool removed = false;
    on_interface = [&](const host::InterfaceState& state) {
        if (removed || std::ranges::find(state.addresses, host::own("10.1.0.1/24")) != state.addresses.end()) return;
        removed = true;
        ASSERT_TRUE(netlink->remove_host_route(lan, link::gid_of(host_prefix.address)));
        follower->catch_up();
        EXPECT_FALSE(has(host_prefix)) << "what was changed before is in the table";
    };
    const auto pause = loop->after(200 * millisecond, [&] { ip("address delete 10.1.0.1/24 dev lan"); });
    ASSERT_TRUE(soon([&] { return removed; }));
    bool later = false;
    const auto settled = loop->after(500 * millisecond, [&] { later = true; });
    ASSERT_TRUE(soon([&] { return later; }));
    EXPECT_FALSE(has(host_prefix));
}

}  // namespace
}  // namespace verbline::router

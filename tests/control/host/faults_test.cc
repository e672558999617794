// SPDX-License-Identifier: BSD-3-Clause
// What is asked of the kernel, while each call fails once: an answer, or one line that says why there is none.
#include "tests/support/faults.h"

#include <filesystem>
#include <string>

#include <net/if.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "control/host/kernel_group.h"
#include "control/host/kernel_neighbour.h"
#include "control/host/netlink.h"
#include "control/host/netlink_monitor.h"
#include "control/host/port_reservations.h"
#include "control/host/udp_guard.h"
#include "datapath/link/ip_gid.h"
#include "pmd/base/clock.h"
#include "tests/support/namespace.h"

namespace verbline::host::faults {
namespace {

using test::Outcome, test::WithoutFaults;
using wire::ipv4;

constexpr std::uint16_t tcp = 0x0106;

/// One interface with a neighbour that is known, in a namespace that the tests' threads are in.
struct HostFaults : ::testing::Test {
    void SetUp() override {
        SKIP_UNLESS_ROOT();
        space.emplace();
        space->run("ip link add v0 type veth peer name v1");
        space->run("ip address add 10.1.0.1/24 dev v0");
        space->run("ip link set v0 up");
        space->run("ip link set v1 up");
        space->run("ip neighbour add 10.1.0.2 lladdr 02:00:00:00:00:02 dev v0 nud permanent");
        // So that a table has as many lines each time.
        space->run("sysctl -qw net.ipv6.conf.all.disable_ipv6=1");
    }
    template <class Scenario>
    void expect_survives(std::string_view name, Scenario scenario) const {
        space->enter([&] {
            const auto tally = test::expect_survives_faults(name, scenario);
            EXPECT_GT(tally.errors, 2u);
        });
    }

    std::optional<test::Namespace> space;
};

TEST_F(HostFaults, RequestsAreDoneOrRefused) {
    expect_survives("netlink: requests", []() -> Outcome {
        auto netlink = Netlink::open("");
        if (!netlink) return netlink.error();
        const auto link = netlink->link("v0");
        if (!link) return link.error();
        EXPECT_EQ(link->name, "v0");
        const link::InterfaceAddress address{link::gid_of(ipv4(10, 2, 0, 1)), 24};
        const Route route{.prefix = {ipv4(10, 3, 0, 0), 16}, .hops = {{link->ifindex, ipv4(10, 1, 0, 2), true}}};
        for (const auto& step :
             {std::function<Result<void>()>([&] { return netlink->set_up(link->ifindex, true); }),
              std::function<Result<void>()>([&] { return netlink->set_mtu(link->ifindex, 1400); }),
              std::function<Result<void>()>([&] { return netlink->add_address(link->ifindex, address); }),
              std::function<Result<void>()>([&] { return netlink->replace_route(route); })}) {
            if (auto done = step(); !done) return done.error();
        }
        const auto all = netlink->list();
        if (!all) return all.error();
        EXPECT_GT(all->size(), 3u);
        return {};
    });
}

/// Whoever follows the kernel has all of its tables in the end, or knows that it has not.
TEST_F(HostFaults, MonitorIsCompleteOrReportsResync) {
    expect_survives("netlink: monitor", []() -> Outcome {
        auto monitor = NetlinkMonitor::open("");
        if (!monitor) return monitor.error();
        unsigned routes = 0;
        bool synced = false;
        for (const auto end = monotonic_now() + 2 * second; !synced && monotonic_now() < end;) {
            auto events = (*monitor)->receive(monotonic_now());
            if (!events) return events.error();
            for (const auto& event : *events) {
                if (std::holds_alternative<Resync>(event)) routes = 0;
                if (std::holds_alternative<RouteAdded>(event)) ++routes;
                if (std::holds_alternative<Synced>(event)) synced = true;
            }
        }
        EXPECT_TRUE(synced);
        EXPECT_GE(routes, 4u) << "a route is missing, and nobody knows";
        return {};
    });
}

TEST_F(HostFaults, AddressesAndNeighboursAreFoundOrNot) {
    expect_survives("netlink: neighbours", []() -> Outcome {
        const auto addresses = kernel_addresses("v0");
        if (!addresses) return addresses.error();
        EXPECT_NE(addresses->ifindex, 0u);
        EXPECT_EQ(addresses->addresses.size(), 1u);
        const auto hop = resolve_kernel_neighbour(addresses->ifindex, link::gid_of(ipv4(10, 1, 0, 1)),
                                                  link::gid_of(ipv4(10, 1, 0, 2)), 100 * millisecond);
        if (!hop) return hop.error();
        EXPECT_EQ(hop->bytes[5], std::byte{2});
        const auto nobody = resolve_kernel_neighbour(addresses->ifindex, link::gid_of(ipv4(10, 1, 0, 1)),
                                                     link::gid_of(ipv4(10, 1, 0, 3)), 5 * millisecond);
        EXPECT_FALSE(nobody);
        EXPECT_NE(nobody.error().code, EBADF) << "that is not what was wrong: " << nobody.error().what;
        return {};
    });
}

TEST_F(HostFaults, GroupsGuardsAndPortsAreHeldOrNot) {
    const auto directory = std::filesystem::temp_directory_path() / ("verbline-faults-" + std::to_string(getpid()));
    std::filesystem::create_directories(directory);
    const wire::MacAddress mac{{std::byte{2}, {}, {}, {}, {}, std::byte{1}}};
    unsigned ifindex = 0;
    space->enter([&] { ifindex = if_nametoindex("v0"); });
    expect_survives("groups, guards, ports", [&]() -> Outcome {
        const auto group = join_kernel_group(ifindex, link::gid_of(ipv4(224, 1, 2, 3)));
        if (!group) return group.error();
        const auto guard = UdpGuard::open();
        if (!guard) return guard.error();
        auto ports = PortReservations::open(mac, directory);
        if (!ports) return ports.error();
        auto others = [&] {
            const WithoutFaults opening;
            return PortReservations::open(mac, directory).value();
        }();
        Outcome outcome;
        std::uint16_t port = 0;
        try {
            const auto reserved = ports->reserve(tcp, 0);
            if (!reserved) return reserved.error();
            port = *reserved;
            if (auto released = ports->release(tcp, port); !released) {
                outcome = released.error();
                const WithoutFaults again;
                EXPECT_TRUE(ports->release(tcp, port)) << "it is not ours any more, and nobody else's";
            }
        } catch (const std::bad_alloc&) {
            outcome = Error{ENOMEM, "out of memory"};
        }
        const WithoutFaults looking;
        if (port != 0) {
            EXPECT_FALSE(others.elsewhere(tcp, port).value()) << "it is still held, but nobody knows";
        }
        return outcome;
    });
    std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace verbline::host::faults

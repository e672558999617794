// SPDX-License-Identifier: BSD-3-Clause
// Two namespaces and a veth between them: the kernel's own ARP and ND are what is asked.
#include "control/host/kernel_neighbour.h"

#include <thread>

#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include "control/host/udp_guard.h"
#include "datapath/link/gid_table.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/text.h"
#include "tests/support/namespace.h"

namespace verbline::host {
namespace {

wire::Gid gid(std::string_view text) {
    if (const auto v4 = wire::from_string<wire::Ipv4Address>(text)) return link::gid_of(*v4);
    return wire::from_string<wire::Gid>(text).value();
}
wire::MacAddress mac(std::string_view text) {
    return wire::from_string<wire::MacAddress>(text).value();
}

struct KernelNeighbourTest : ::testing::Test {
    void SetUp() override {
        SKIP_UNLESS_ROOT();
        here.emplace(), there.emplace();
        here->run("ip link add v0 address 02:00:00:00:00:01 mtu 4200 type veth peer name v1 address 02:00:00:00:00:02");
        here->run("ip link set v1 netns " + there->path());
        here->run("ip address add 10.1.0.1/24 dev v0");
        here->run("ip address add 10.1.5.1/16 dev v0");
        here->run("ip address add fd00::1/64 dev v0 nodad");
        there->run("ip address add 10.1.0.2/24 dev v1");
        there->run("ip address add fd00::2/64 dev v1 nodad");
        // Link-local addresses are given here, for the kernel's own would be tentative for a second.
        for (auto* const side : {&here, &there}) {
            (*side)->run(std::string("sysctl -qw net.ipv6.conf.") + (side == &here ? "v0" : "v1") + ".addr_gen_mode=1");
        }
        here->run("ip link set v0 up");
        there->run("ip link set v1 up");
        here->run("ip address add fe80::ff:fe00:1/64 dev v0 nodad");
        there->run("ip address add fe80::ff:fe00:2/64 dev v1 nodad");
    }
    Result<wire::MacAddress> resolve(const char* from, const char* to, Time timeout = 20 * second) const {
        Result<wire::MacAddress> result;
        here->enter([&] { result = resolve_kernel_neighbour(if_nametoindex("v0"), gid(from), gid(to), timeout); });
        return result;
    }

    std::optional<test::Namespace> here, there;
};

TEST_F(KernelNeighbourTest, AnInterfaceAndItsAddresses) {
    here->run("ip address add fd00::dad/64 dev v0");  // tentative for a second
    Result<InterfaceAddresses> found;
    here->enter([&] { found = kernel_addresses("v0"); });
    ASSERT_TRUE(found) << found.error().what;
    EXPECT_EQ(found->mac, mac("02:00:00:00:00:01"));
    EXPECT_EQ(found->mtu, 4200u);
    EXPECT_NE(found->ifindex, 0u);
    ASSERT_EQ(found->addresses.size(), 4u);
    EXPECT_EQ(found->addresses[0], (link::InterfaceAddress{gid("10.1.0.1"), 24}));
    EXPECT_EQ(found->addresses[1], (link::InterfaceAddress{gid("10.1.5.1"), 16}));
    for (const auto* ipv6 : {"fd00::1", "fe80::ff:fe00:1"}) {
        EXPECT_TRUE(found->addresses[2].gid == gid(ipv6) || found->addresses[3].gid == gid(ipv6)) << ipv6;
    }
    here->enter([&] { found = kernel_addresses("nosuch"); });
    EXPECT_EQ(found.error().what, "no interface nosuch; `ip link` lists those there are");
}

TEST_F(KernelNeighbourTest, InterfaceThatIsRemovedHasItsAddressesOrIsNotThere) {
    for (int round = 0; round < 20; ++round) {
        const test::Namespace left;
        left.run("ip link add v2 type veth peer name v3");
        left.run("ip address add 10.2.0.1/24 dev v2");
        std::thread removal([&] { left.run("ip link del v2"); });
        left.enter([] {
            for (auto found = kernel_addresses("v2"); found; found = kernel_addresses("v2")) {
                ASSERT_EQ(found->addresses.size(), 1u);
            }
        });
        removal.join();
    }
}

TEST_F(KernelNeighbourTest, TheKernelIsMadeToAsk) {
    for (const auto& [from, to] : {std::pair{"10.1.0.1", "10.1.0.2"}, std::pair{"fd00::1", "fd00::2"},
                                   std::pair{"fe80::ff:fe00:1", "fe80::ff:fe00:2"}}) {
        for (unsigned time = 0; time < 2; ++time) {  // asked, then known
            const auto found = resolve(from, to);
            ASSERT_TRUE(found) << to << ": " << found.error().what;
            EXPECT_EQ(*found, mac("02:00:00:00:00:02"));
        }
    }
}

TEST_F(KernelNeighbourTest, RemoteDestinationResolvesToGateway) {
    here->run("ip route add 192.168.9.0/24 via 10.1.0.2");
    here->run("ip route add fd99::/64 via fd00::2");
    EXPECT_EQ(resolve("10.1.0.1", "192.168.9.9").value(), mac("02:00:00:00:00:02"));
    EXPECT_EQ(resolve("fd00::1", "fd99::9").value(), mac("02:00:00:00:00:02"));
}

TEST_F(KernelNeighbourTest, OurOwnAddressesAreHere) {
    EXPECT_EQ(resolve("10.1.0.1", "10.1.5.1").value(), mac("02:00:00:00:00:01"));
    EXPECT_EQ(resolve("fd00::1", "fd00::1").value(), mac("02:00:00:00:00:01"));
}

TEST_F(KernelNeighbourTest, StaticEntryResolvesWithoutProbe) {
    here->run("ip neigh add 10.1.0.77 lladdr 02:00:00:00:00:77 dev v0");
    EXPECT_EQ(resolve("10.1.0.1", "10.1.0.77", 0).value(), mac("02:00:00:00:00:77"));
}

TEST_F(KernelNeighbourTest, ErrorsAreOneLineEach) {
    const auto silent = resolve("10.1.0.1", "10.1.0.99", 50 * millisecond);
    EXPECT_EQ(silent.error().code, ETIMEDOUT);
    EXPECT_EQ(silent.error().what, "10.1.0.99 does not answer on v0; is it up, and in the same network?");
    here->run("sysctl -qw net.ipv4.neigh.v0.retrans_time_ms=10");
    EXPECT_EQ(resolve("10.1.0.1", "10.1.0.98").error().code, EHOSTUNREACH) << "the kernel has given up";
    here->run("ip route add unreachable fd77::/64");
    EXPECT_EQ(resolve("fd00::1", "fd77::1").error().code, EHOSTUNREACH);
    EXPECT_EQ(resolve("10.1.0.1", "fd00::2").has_value(), false) << "families mixed";
    EXPECT_EQ(resolve_kernel_neighbour(1u << 30, {}, {}, 0).error().code, ENODEV);
}

TEST_F(KernelNeighbourTest, GuardedTheKernelIsQuiet) {
    const auto answered = [&](const char* address) {
        bool refused = false;
        here->enter([&] {
            const FileDescriptor fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
            sockaddr_in peer{.sin_family = AF_INET, .sin_port = htons(4791)};
            inet_pton(AF_INET, address, &peer.sin_addr);
            ASSERT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&peer), sizeof(peer)), 0);
            ASSERT_EQ(send(fd.get(), "x", 1, 0), 1);
            // ICMP comes with the answer's own packet, within a send on a veth; the limit is for when it must not come.
            const timeval limit{.tv_usec = 200'000};
            setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
            char byte;
            refused = recv(fd.get(), &byte, 1, 0) < 0 && errno == ECONNREFUSED;
        });
        return refused;
    };
    ASSERT_TRUE(resolve("10.1.0.1", "10.1.0.2"));
    EXPECT_TRUE(answered("10.1.0.2"));
    Result<UdpGuard> guard, second_one;
    there->enter([&] { guard = UdpGuard::open(), second_one = UdpGuard::open(); });
    ASSERT_TRUE(guard && second_one) << "several processes may";
    EXPECT_FALSE(answered("10.1.0.2"));
    guard = {}, second_one = {};
    EXPECT_TRUE(answered("10.1.0.2"));

    Result<UdpGuard> late;
    there->enter([&] {
        const FileDescriptor other(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        const sockaddr_in any{.sin_family = AF_INET, .sin_port = htons(4791)};
        ASSERT_EQ(bind(other.get(), reinterpret_cast<const sockaddr*>(&any), sizeof(any)), 0);
        late = UdpGuard::open();
    });
    EXPECT_EQ(late.error().code, EADDRINUSE);
}

}  // namespace
}  // namespace verbline::host

// SPDX-License-Identifier: BSD-3-Clause
// Which IPv6 packets a shard hands to the kernel and to the control thread, and what it sends for the kernel.
#include <gtest/gtest.h>

#include "tests/datapath/router/shard_ipv6.h"

namespace verbline::router::over_ipv6 {
namespace {

TEST(Ipv6Shard, HandsTheKernelWhatIsOursAndWhatIsForGroups) {
    Gateway gateway;
    for (const auto& to : {left_ip, left_local, ipv6("ff02::2"), ipv6("ff0e::5")}) {
        const auto packet = ip_packet(alice, to, 100, 255, wire::IpProtocol::icmpv6, 133);
        gateway.from_alice(packet);
        ASSERT_EQ(gateway.left_kernel.sent.size(), 1u);
        EXPECT_EQ(bytes_of(gateway.left_kernel.sent[0]), packet) << "hop limit and all";
        gateway.left_kernel.sent.clear();
    }
}

TEST(Ipv6Shard, HandsTheControlThreadNeighbourDiscovery) {
    for (const bool host : {false, true}) {
        Gateway gateway(host);
        for (const unsigned type : {135, 136}) {
            gateway.from_alice(ip_packet(alice, ipv6("ff02::1"), 24, 255, wire::IpProtocol::icmpv6, type));
            const auto event = gateway.events.pop();
            ASSERT_TRUE(event && std::holds_alternative<Punted>(*event));
            const auto& punted = std::get<Punted>(*event);
            EXPECT_EQ(punted.type, wire::ether_type::ipv6);
            EXPECT_EQ(punted.port, left);
            rte_pktmbuf_free(punted.packet);
        }
        EXPECT_TRUE(gateway.left_kernel.sent.empty());
    }
}

/// As a solicitation to one host may be (RFC 4861, 7.3.3), sent to the wrong station: its hop limit must not be spent.
TEST(Ipv6Shard, RoutesNoNeighbourDiscovery) {
    Gateway gateway;
    gateway.set_neighbour(right, bob, bob_mac);
    const std::vector packets{ip_packet(alice, bob), ip_packet(alice, bob, 24, 255, wire::IpProtocol::icmpv6, 135),
                              ip_packet(alice, bob, 24, 64, wire::IpProtocol::icmpv6, 128)};
    gateway.from_alice(packets);
    EXPECT_EQ(gateway.right_link.sent.size(), 2u) << "the datagram and the ping";
    const auto event = gateway.events.pop();
    ASSERT_TRUE(event && std::holds_alternative<Punted>(*event));
    rte_pktmbuf_free(std::get<Punted>(*event).packet);
}

TEST(Ipv6Shard, HandsTheControlThreadRouterSolicitationsOfAPortThatAdvertises) {
    Gateway gateway(false, {.advertises = true});
    gateway.from_alice(ip_packet(alice, ipv6("ff02::2"), 8, 255, wire::IpProtocol::icmpv6, 133));
    EXPECT_TRUE(gateway.left_kernel.sent.empty()) << "which would answer for itself, if a daemon told it to";
    const auto event = gateway.events.pop();
    ASSERT_TRUE(event && std::holds_alternative<Punted>(*event));
    rte_pktmbuf_free(std::get<Punted>(*event).packet);
}

TEST(Ipv6Shard, HandsOverRouterSolicitationsAsLongAsItIsTold) {
    Gateway gateway;
    const auto solicitation = ip_packet(alice, ipv6("ff02::2"), 8, 255, wire::IpProtocol::icmpv6, 133);
    gateway.command(SetAdvertises{left, true});
    gateway.from_alice(solicitation);
    EXPECT_TRUE(gateway.left_kernel.sent.empty());
    const auto event = gateway.events.pop();
    ASSERT_TRUE(event && std::holds_alternative<Punted>(*event));
    rte_pktmbuf_free(std::get<Punted>(*event).packet);
    gateway.command(SetAdvertises{left, false});
    gateway.from_alice(solicitation);
    EXPECT_EQ(gateway.left_kernel.sent.size(), 1u);
    EXPECT_FALSE(gateway.events.pop());
}

TEST(Ipv6Shard, AHostHandsTheKernelEverythingElse) {
    Gateway gateway(true);
    gateway.from_alice(ip_packet(alice, ipv6("2001:db8::1")));
    EXPECT_EQ(gateway.left_kernel.sent.size(), 1u);
}

TEST(Ipv6Shard, SendsWhatTheKernelSends) {
    Gateway gateway;
    gateway.set_neighbour(right, bob, bob_mac), gateway.set_neighbour(right, carol, mac(0xc));
    gateway.from_right_kernel(ip_packet(right_ip, bob, 100, 1));
    EXPECT_EQ(only_packet(gateway.right_link), ip_packet(right_ip, bob, 100, 1)) << "it is not ours to count down";
    gateway.from_right_kernel(ip_packet(right_ip, carol));
    EXPECT_EQ(Ethernet::parse(only_frame(gateway.right_link))->destination, mac(0xc));
    gateway.from_right_kernel(ip_packet(right_ip, bob, 1300));
    EXPECT_EQ(gateway.counter("dropped_mtu"), 1u) << "which the kernel should have known";
}

TEST(Ipv6Shard, SendsTheKernelsGroupsToTheirMacAddresses) {
    Gateway gateway;
    const auto report = ip_packet(ipv6("fe80::1"), ipv6("ff02::16"));
    gateway.from_right_kernel(report);
    EXPECT_EQ(gateway.counter("dropped_broadcast"), 1u) << "no destination yet";
    gateway.command(SetBroadcast{right,
                                 link::ethernet_destination(right_mac, wire::broadcast_mac, wire::ether_type::ipv4),
                                 link::ethernet_destination(right_mac, wire::broadcast_mac, wire::ether_type::ipv6)});
    gateway.from_right_kernel(report);
    const auto frame = only_frame(gateway.right_link);
    EXPECT_EQ(to_string(Ethernet::parse(frame)->destination), "33:33:00:00:00:16");
    EXPECT_EQ(Ethernet::parse(frame)->source, right_mac);
    EXPECT_EQ(Ethernet::parse(frame)->type, wire::ether_type::ipv6);
}

}  // namespace
}  // namespace verbline::router::over_ipv6

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/router.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <vector>

#include <rte_ethdev.h>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/icmp.h"
#include "datapath/wire/ipv4.h"
#include "tests/datapath/offload/tcp_packet.h"
#include "tests/datapath/offload/udp_packet.h"
#include "tests/datapath/router/two_ports.h"

namespace verbline::router {
namespace {

using namespace two_ports;
using test::Packet;

TEST(Router, ForwardsAndDecrementsTheTtl) {
    Gateway gateway;
    gateway.resolve(bob);
    gateway.from_alice(ip_packet(alice, bob));
    const auto packet = only_packet(gateway.right_link);
    EXPECT_EQ(packet, ip_packet(alice, bob, 100, 63)) << "with its header checksum right again";
}

TEST(Router, AsksOnceForAnUnknownNeighbourAndThenSendsWhatWaited) {
    Gateway gateway;
    for (int i = 0; i < 3; ++i) gateway.from_alice(ip_packet(alice, bob));
    EXPECT_TRUE(gateway.right_link.sent.empty());
    const auto event = gateway.events.pop();
    ASSERT_TRUE(event && std::holds_alternative<Unresolved>(*event));
    EXPECT_EQ(std::get<Unresolved>(*event).address, link::gid_of(bob));
    EXPECT_FALSE(gateway.events.pop()) << "one event for three packets";
    EXPECT_TRUE(gateway.wake.drain()) << "the control thread was woken";
    gateway.resolve(bob);
    EXPECT_EQ(gateway.right_link.sent.size(), 3u);
}

TEST(Router, SendsThroughAGatewayToTheGatewaysAddress) {
    Gateway gateway;
    gateway.from_alice(ip_packet(alice, ipv4(10, 3, 7, 7)));
    const auto event = gateway.events.pop();
    ASSERT_TRUE(event);
    EXPECT_EQ(std::get<Unresolved>(*event).address, link::gid_of(carol));
}

void expect_icmp(const ByteVector& packet, wire::Ipv4Address from, std::uint8_t type, std::uint8_t code) {
    const auto ip = Ipv4::parse(packet);
    ASSERT_TRUE(ip);
    EXPECT_EQ(ip->source, from);
    EXPECT_EQ(ip->destination, alice);
    EXPECT_EQ(ip->protocol, wire::IpProtocol::icmp);
    EXPECT_EQ(wire::load8(packet, 20), type);
    EXPECT_EQ(wire::load8(packet, 21), code);
}

TEST(Router, SaysWhyAPacketCannotBeDelivered) {
    Gateway gateway;
    gateway.from_alice(ip_packet(alice, bob, 100, 1));
    expect_icmp(only_packet(gateway.left_link), left_ip, 11, 0);
    gateway.from_alice(ip_packet(alice, nobody));
    expect_icmp(only_packet(gateway.left_link), left_ip, 3, 0);
    gateway.from_alice(ip_packet(alice, bob, 1100));
    const auto too_big = only_packet(gateway.left_link);
    expect_icmp(too_big, left_ip, 3, 4);
    EXPECT_EQ(wire::load16(too_big, 26), 1000) << "the next link's MTU";
    gateway.from_alice(ip_packet(alice, bob));
    gateway.command(FailNeighbour{right, link::gid_of(bob)});
    gateway.poll();
    expect_icmp(only_packet(gateway.left_link), left_ip, 3, 1);

    EXPECT_EQ(gateway.counter("dropped_ttl"), 1u);
    EXPECT_EQ(gateway.counter("dropped_no_route"), 1u);
    EXPECT_EQ(gateway.counter("dropped_mtu"), 1u);
    EXPECT_EQ(gateway.counter("dropped_neighbour_failed"), 1u);
    EXPECT_EQ(gateway.counter("icmp_errors_sent"), 4u);
}

TEST(Router, GivesUpOnANeighbourThatNobodyResolves) {
    Gateway gateway;
    gateway.from_alice(ip_packet(alice, bob));
    gateway.now += 10 * second;
    gateway.poll();
    gateway.poll();
    expect_icmp(only_packet(gateway.left_link), left_ip, 3, 1);
}

TEST(Router, FragmentsWhereItMay) {
    Gateway gateway;
    gateway.resolve(bob);
    gateway.from_alice(ip_packet(alice, bob, 1400, 64, false));
    ASSERT_EQ(gateway.right_link.sent.size(), 2u);
    for (auto& piece : gateway.right_link.sent) EXPECT_LE(piece->pkt_len, 1000u + Ethernet::size);
    EXPECT_EQ(gateway.counter("fragmented_packets"), 1u);
    EXPECT_EQ(gateway.counter("fragments_made"), 2u);
}

/// The lengths of what was sent on an Ethernet device.
std::vector<std::size_t> lengths(const test::FakeNetDevice& device) {
    std::vector<std::size_t> out;
    for (const auto& packet : device.sent) out.push_back(packet->pkt_len - Ethernet::size - Ipv4::size);
    return out;
}

/// Packets of one burst are looked up together, and part again.
TEST(Router, PartsABurstByPortAndNeighbourInItsOrder) {
    Gateway gateway;
    gateway.resolve(bob);
    for (std::size_t i = 1; i <= 12; ++i) {
        const auto to = i % 4 == 0 ? carol : i % 4 == 1 ? alice : i % 4 == 2 ? bob : nobody;
        gateway.left_link.receive(in_ethernet(left_mac, ip_packet(alice, to, i * 10)));
    }
    gateway.poll();
    EXPECT_EQ(lengths(gateway.right_link), (std::vector<std::size_t>{20, 60, 100})) << "bob's";
    EXPECT_EQ(gateway.counter("dropped_no_route"), 3u);
    const auto event = gateway.events.pop();
    ASSERT_TRUE(event && std::holds_alternative<Unresolved>(*event));
    EXPECT_EQ(std::get<Unresolved>(*event).address, link::gid_of(carol));
    EXPECT_FALSE(gateway.events.pop());
    EXPECT_EQ(gateway.left_link.sent.size(), 6u) << "alice's own, which come back, and three ICMP errors";

    gateway.resolve(carol);
    EXPECT_EQ(lengths(gateway.right_link), (std::vector<std::size_t>{20, 60, 100, 40, 80, 120})) << "carol's waited";
}

/// More pieces than a burst has room for.
TEST(Router, FragmentsAWholeBurstInOrder) {
    Gateway gateway;
    gateway.resolve(bob);
    constexpr std::size_t packets = 50;
    for (std::size_t i = 0; i < packets; ++i) {
        gateway.left_link.receive(in_ethernet(left_mac, ip_packet(alice, bob, 1400, 64, false)));
    }
    gateway.poll(), gateway.poll();
    std::vector<std::size_t> expected;
    for (std::size_t i = 0; i < packets; ++i) expected.insert(expected.end(), {976, 424});
    EXPECT_EQ(lengths(gateway.right_link), expected);
}

/// A SYN that announces this maximum segment size.
ByteVector syn(wire::Ipv4Address from, wire::Ipv4Address to, unsigned mss, std::uint8_t ttl = 64) {
    offload::TcpPacket packet{.options = test::bytes_from(2, 4, mss >> 8, mss & 255), .payload = {}};
    packet.ip.source = from, packet.ip.destination = to, packet.ip.time_to_live = ttl;
    packet.tcp.flags = wire::tcp_flag::syn;
    return packet.bytes();
}

TEST(Router, ClampsTheSegmentsOfTcpBothWays) {
    Gateway gateway(false, {.clamp_mss = true});
    gateway.resolve(bob);
    gateway.from_alice(syn(alice, bob, 1460));
    EXPECT_EQ(only_packet(gateway.right_link), syn(alice, bob, 960, 63)) << "the next link's MTU is 1000";
    gateway.right_link.receive(in_ethernet(right_mac, syn(bob, alice, 1460)));
    gateway.poll();
    EXPECT_EQ(only_packet(gateway.left_link), syn(bob, alice, 960, 63)) << "what answers it comes back to that link";
    gateway.from_alice(syn(alice, bob, 536));
    EXPECT_EQ(only_packet(gateway.right_link), syn(alice, bob, 536, 63));
    EXPECT_EQ(gateway.counter("mss_clamped_packets"), 2u);
}

TEST(Router, LeavesTheSegmentsOfTcpUnlessTold) {
    Gateway gateway;
    gateway.resolve(bob);
    gateway.from_alice(syn(alice, bob, 1460));
    EXPECT_EQ(only_packet(gateway.right_link), syn(alice, bob, 1460, 63));
    EXPECT_EQ(gateway.counter("mss_clamped_packets"), 0u);
}

TEST(Router, ClampsTheSegmentsOfTcpAsLongAsItIsTold) {
    Gateway gateway;
    gateway.resolve(bob);
    gateway.from_alice(syn(alice, bob, 1460));
    EXPECT_EQ(only_packet(gateway.right_link), syn(alice, bob, 1460, 63));
    gateway.command(SetChecks{.port = right, .clamp_mss = true});
    gateway.from_alice(syn(alice, bob, 1460));
    EXPECT_EQ(only_packet(gateway.right_link), syn(alice, bob, 960, 63));
    gateway.command(SetChecks{.port = right});
    gateway.from_alice(syn(alice, bob, 1460));
    EXPECT_EQ(only_packet(gateway.right_link), syn(alice, bob, 1460, 63));
    EXPECT_EQ(gateway.counter("mss_clamped_packets"), 1u);
}

/// How many of a burst from the left, one from each of these sources to bob, get there.
std::size_t passed(forward::ReversePathFilter check, const std::vector<wire::Ipv4Address>& sources) {
    Gateway gateway(false, {.reverse_path = check});
    gateway.resolve(bob);
    for (const auto source : sources) gateway.left_link.receive(in_ethernet(left_mac, ip_packet(source, bob)));
    gateway.poll();
    const auto through = gateway.right_link.sent.size();
    EXPECT_EQ(gateway.counter("dropped_reverse_path"), sources.size() - through);
    EXPECT_EQ(gateway.counter("icmp_errors_sent"), 0u);
    return through;
}

TEST(Router, ChecksTheReversePathOfSources) {
    using enum forward::ReversePathFilter;
    const auto behind_carol = ipv4(10, 3, 0, 1);
    EXPECT_EQ(passed(off, {alice, carol, behind_carol, nobody, left_ip, right_ip}), 6u);
    EXPECT_EQ(passed(strict, {alice}), 1u);
    EXPECT_EQ(passed(strict, {carol, behind_carol, nobody, left_ip, right_ip}), 0u);
    EXPECT_EQ(passed(loose, {alice, carol, behind_carol}), 3u);
    EXPECT_EQ(passed(loose, {nobody, left_ip, right_ip}), 0u) << "no route, or ours";
}

TEST(Router, ChecksTheReversePathAsLongAsItIsTold) {
    using enum forward::ReversePathFilter;
    Gateway gateway;
    gateway.resolve(bob);
    for (const auto& [check, through] : {std::pair{off, 1u}, {strict, 0u}, {loose, 1u}, {strict, 0u}, {off, 1u}}) {
        gateway.command(SetChecks{.port = left, .reverse_path = check});
        gateway.right_link.sent.clear();
        gateway.from_alice(ip_packet(carol, bob));
        EXPECT_EQ(gateway.right_link.sent.size(), through);
    }
    EXPECT_EQ(gateway.counter("dropped_reverse_path"), 2u);
}

TEST(Router, GoesOnWithAnotherDecoratorOfADevice) {
    Gateway gateway;
    gateway.resolve(bob);
    test::FakeNetDevice instead;
    std::atomic<std::size_t> left_over = 2;
    gateway.command(SetDevice{right, &instead, &left_over});
    const auto flushed = gateway.right_link.empty_bursts;
    gateway.from_alice(ip_packet(alice, bob));
    EXPECT_EQ(left_over, 1u) << "another shard has not done it yet";
    EXPECT_EQ(gateway.right_link.empty_bursts, flushed + 1) << "for what it might have held back";
    EXPECT_TRUE(gateway.right_link.sent.empty());
    EXPECT_EQ(instead.sent.size(), 1u);
    instead.receive(in_ethernet(right_mac, ip_packet(bob, right_ip)));
    gateway.poll();
    EXPECT_EQ(gateway.right_kernel.sent.size(), 1u);
    gateway.command(SetDevice{right, &gateway.right_link, &left_over});
    gateway.poll();
    EXPECT_EQ(left_over, 0u);
}

TEST(Router, ChecksTheReversePathOfWhatTheKernelGets) {
    Gateway gateway(false, {.reverse_path = forward::ReversePathFilter::strict});
    gateway.from_alice(ip_packet(bob, left_ip));
    gateway.from_alice(ip_packet(bob, ipv4(255, 255, 255, 255)));
    EXPECT_TRUE(gateway.left_kernel.sent.empty());
    gateway.from_alice(ip_packet({}, ipv4(255, 255, 255, 255)));
    EXPECT_EQ(gateway.left_kernel.sent.size(), 1u) << "DHCP: a host that has no address yet";
    EXPECT_EQ(gateway.counter("dropped_reverse_path"), 2u);
}

TEST(Router, KeepsTheOrderOfWhatPassesTheReversePathCheck) {
    Gateway gateway(false, {.reverse_path = forward::ReversePathFilter::strict});
    gateway.resolve(bob);
    for (std::size_t i = 1; i <= 12; ++i) {
        gateway.left_link.receive(in_ethernet(left_mac, ip_packet(i % 3 == 0 ? carol : alice, bob, i * 10)));
    }
    gateway.poll();
    EXPECT_EQ(lengths(gateway.right_link), (std::vector<std::size_t>{10, 20, 40, 50, 70, 80, 100, 110}));
}

TEST(Router, GivesTheKernelTheDatagramsOfABurstAsItTakesThem) {
    for (const bool takes_one : {false, true}) {
        Gateway host(true, {}, takes_one ? RTE_ETH_TX_OFFLOAD_UDP_TSO : 0);
        offload::UdpPacket datagram{};
        datagram.ip.source = alice, datagram.ip.destination = left_ip;
        for (int i = 0; i < 5; ++i) {
            host.left_link.receive(in_ethernet(left_mac, datagram.bytes()));
            datagram = datagram.followed_by(64);
        }
        host.poll();
        EXPECT_EQ(host.left_kernel.sent.size(), takes_one ? 1U : 5U);
        EXPECT_EQ(host.counter("rx_coalesced_datagrams"), takes_one ? 4U : 0U);
        EXPECT_EQ(host.counter("to_kernel_packets"), takes_one ? 1U : 5U);
    }
}

TEST(Router, NeverRoutesADirectedBroadcast) {
    Gateway gateway;
    const auto all_of_right = ipv4(10, 2, 0, 255);
    EXPECT_TRUE(gateway.fib->replace({all_of_right, 32}, {NextHop::Kind::local, right}));
    gateway.resolve(all_of_right);
    gateway.command(
        SetBroadcast{right, link::ethernet_destination(right_mac, wire::broadcast_mac, wire::ether_type::ipv4)});
    gateway.from_alice(ip_packet(alice, all_of_right));
    EXPECT_TRUE(gateway.right_link.sent.empty());
    EXPECT_EQ(gateway.left_kernel.sent.size(), 1u) << "a host's business";
    EXPECT_EQ(gateway.counter("forwarded_packets"), 0u);
}

}  // namespace
}  // namespace verbline::router

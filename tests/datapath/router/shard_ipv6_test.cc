// SPDX-License-Identifier: BSD-3-Clause
// How a shard routes IPv6 packets; what both families have in common is in shard_test.cc.
#include "tests/datapath/router/shard_ipv6.h"

#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/wire/tcp.h"
#include "datapath/wire/text.h"
#include "tests/datapath/offload/tcp_packet.h"
#include "tests/support/checksum.h"

namespace verbline::router::over_ipv6 {
namespace {

/// Segments of a TCP stream from Alice to Bob.
std::vector<ByteVector> segments(std::uint8_t hops) {
    offload::Ipv6TcpPacket segment{.options = {}, .payload = test::pattern(1200)};
    segment.ip.source = alice, segment.ip.destination = bob, segment.ip.hop_limit = hops;
    std::vector<ByteVector> packets;
    for (unsigned i = 0; i < 5; ++i) {
        packets.push_back(segment.bytes());
        segment = segment.followed_by(1200, i);
    }
    return packets;
}

TEST(Ipv6Shard, RoutesTheSegmentsOfABurstAsOnePacket) {
    Gateway gateway;
    gateway.set_neighbour(right, bob, bob_mac);
    gateway.from_alice(segments(64));
    EXPECT_EQ(gateway.counter("rx_coalesced"), 4u);
    std::vector<ByteVector> sent;
    for (const auto& frame : gateway.right_link.sent) {
        auto bytes = bytes_of(frame);
        sent.emplace_back(bytes.begin() + Ethernet::size, bytes.end());
    }
    EXPECT_EQ(sent, segments(63)) << "the link does no segmentation";
}

TEST(Ipv6Shard, GivesAHostsKernelTheSegmentsOfABurstAsOnePacket) {
    Gateway host(true);
    host.from_alice(segments(64));
    ASSERT_EQ(host.left_kernel.sent.size(), 1u);
    const auto& large = *host.left_kernel.sent.front();
    EXPECT_EQ(large.pkt_len, 60u + 5 * 1200);
    EXPECT_EQ(large.tso_segsz, 1200);
    EXPECT_NE(large.ol_flags & RTE_MBUF_F_TX_IPV6, 0u);
}

TEST(Ipv6Shard, ForwardsAndDecrementsTheHopLimit) {
    Gateway gateway;
    gateway.set_neighbour(right, bob, bob_mac);
    gateway.from_alice(ip_packet(alice, bob));
    const auto frame = only_frame(gateway.right_link);
    EXPECT_EQ(Ethernet::parse(frame)->type, wire::ether_type::ipv6);
    EXPECT_EQ(Ethernet::parse(frame)->destination, bob_mac);
    EXPECT_EQ(ByteVector(frame.begin() + Ethernet::size, frame.end()), ip_packet(alice, bob, 100, 63));
}

TEST(Ipv6Shard, AsksOnceForAnUnknownNeighbourAndThenSendsWhatWaited) {
    Gateway gateway;
    for (int i = 0; i < 3; ++i) gateway.from_alice(ip_packet(alice, bob));
    const auto event = gateway.events.pop();
    ASSERT_TRUE(event && std::holds_alternative<Unresolved>(*event));
    EXPECT_EQ(std::get<Unresolved>(*event).address, link::gid_of(bob));
    EXPECT_FALSE(gateway.events.pop()) << "one event for three packets";
    gateway.set_neighbour(right, bob, bob_mac);
    EXPECT_EQ(gateway.right_link.sent.size(), 3u);
}

/// Someone scans a /64 of ours, in which every address may be a host: failures_test.cc does the same with IPv4.
TEST(Ipv6Shard, AFloodOfUnknownTargetsTakesBoundedMemory) {
    constexpr unsigned targets = 20'000;
    constexpr auto most = forward::NeighbourTable<link::Destination, Ipv6Address>::Config{}.max_pending;
    Gateway gateway;
    gateway.set_neighbour(right, bob, bob_mac);
    const auto before = rte_mempool_in_use_count(test::packet_pool());
    auto target = ipv6("fd76:2::1:0:0");
    unsigned asked = 0;
    for (unsigned n = 0; n < targets; ++n) {
        target.bytes[13] = static_cast<std::byte>(n >> 16);
        target.bytes[14] = static_cast<std::byte>(n >> 8), target.bytes[15] = static_cast<std::byte>(n);
        gateway.now += 100 * microsecond;
        gateway.from_alice(ip_packet(alice, target));
        gateway.from_alice(ip_packet(alice, bob));
        ASSERT_EQ(gateway.right_link.sent.size(), 1u) << "the established flow goes on";
        gateway.right_link.sent.clear(), gateway.left_link.sent.clear();
        while (gateway.events.pop()) ++asked;
        ASSERT_LE(rte_mempool_in_use_count(test::packet_pool()), before + most);
    }
    EXPECT_EQ(asked, most) << "2 s are too short for any to have failed";
    EXPECT_EQ(gateway.counter("dropped_too_many_unresolved"), targets - most);
}

TEST(Ipv6Shard, SendsThroughALinkLocalGateway) {
    Gateway gateway;
    gateway.from_alice(ip_packet(alice, ipv6("fd76:3::7")));
    const auto event = gateway.events.pop();
    ASSERT_TRUE(event);
    EXPECT_EQ(std::get<Unresolved>(*event).port, right);
    EXPECT_EQ(std::get<Unresolved>(*event).address, link::gid_of(carol));
}

void expect_error(const ByteVector& packet, const Ipv6Address& from, std::uint8_t type, std::uint8_t code,
                  const Ipv6Address& to = alice) {
    const auto ip = Ipv6::parse(packet);
    ASSERT_TRUE(ip);
    EXPECT_EQ(ip->source, from);
    EXPECT_EQ(ip->destination, to);
    EXPECT_EQ(ip->next_header, wire::IpProtocol::icmpv6);
    EXPECT_EQ(wire::load8(packet, 40), type);
    EXPECT_EQ(wire::load8(packet, 41), code);
}

TEST(Ipv6Shard, SaysWhyAPacketCannotBeDelivered) {
    Gateway gateway;
    gateway.from_alice(ip_packet(alice, bob, 100, 1));
    expect_error(only_packet(gateway.left_link), left_ip, 3, 0);
    gateway.from_alice(ip_packet(alice, ipv6("2001:db8::1")));
    expect_error(only_packet(gateway.left_link), left_ip, 1, 0);
    gateway.from_alice(ip_packet(alice, bob, 1300));
    const auto too_big = only_packet(gateway.left_link);
    expect_error(too_big, left_ip, 2, 0);
    EXPECT_EQ(wire::load32(too_big, 44), 1280u) << "the next link's MTU";
    gateway.from_alice(ip_packet(alice, bob));
    gateway.command(FailNeighbour{right, link::gid_of(bob)});
    gateway.shard->poll(0);
    expect_error(only_packet(gateway.left_link), left_ip, 1, 3);

    EXPECT_EQ(gateway.counter("dropped_ttl"), 1u);
    EXPECT_EQ(gateway.counter("dropped_no_route"), 1u);
    EXPECT_EQ(gateway.counter("dropped_mtu"), 1u);
    EXPECT_EQ(gateway.counter("dropped_neighbour_failed"), 1u);
    EXPECT_EQ(gateway.counter("icmp_errors_sent"), 4u);
}

/// A SYN that announces this maximum segment size.
ByteVector syn(unsigned mss, std::uint8_t hops) {
    auto packet = ip_packet(alice, bob, 24, hops, wire::IpProtocol::tcp);
    const auto tcp = std::span(packet).subspan(Ipv6::size);
    wire::Tcp{.header_words = 6, .flags = wire::tcp_flag::syn}.emit(tcp.first<wire::Tcp::size>());
    std::ranges::copy(test::bytes_from(2, 4, mss >> 8, mss & 255), tcp.begin() + wire::Tcp::size);
    wire::store16(tcp, 16, test::naive_l4_checksum(packet, Ipv6::size));
    return packet;
}

TEST(Ipv6Shard, ClampsTheSegmentsOfTcp) {
    Gateway gateway(false, {.clamp_mss = true});
    gateway.set_neighbour(right, bob, bob_mac);
    gateway.from_alice(syn(1440, 64));
    EXPECT_EQ(only_packet(gateway.right_link), syn(1220, 63)) << "the next link's MTU is 1280";
    EXPECT_EQ(gateway.counter("mss_clamped_packets"), 1u);
}

TEST(Ipv6Shard, ChecksTheReversePathOfSources) {
    Gateway gateway(false, {.reverse_path = forward::ReversePathFilter::strict});
    gateway.set_neighbour(right, bob, bob_mac);
    gateway.from_alice(ip_packet(alice, bob));
    EXPECT_EQ(gateway.right_link.sent.size(), 1u);
    gateway.from_alice(ip_packet(bob, bob));
    gateway.from_alice(ip_packet(ipv6("2001:db8::1"), bob));
    gateway.from_alice(ip_packet(left_ip, bob));
    EXPECT_EQ(gateway.right_link.sent.size(), 1u);
    EXPECT_EQ(gateway.counter("dropped_reverse_path"), 3u);
    gateway.from_alice(ip_packet(carol, left_ip));
    gateway.from_alice(ip_packet({}, ipv6("ff02::2")));
    EXPECT_EQ(gateway.left_kernel.sent.size(), 2u) << "each link has link-local addresses, and hosts without one yet";
}

TEST(Ipv6Shard, LimitsItsErrors) {
    Gateway gateway;
    for (int i = 0; i < 200; ++i) gateway.from_alice(ip_packet(alice, bob, 100, 1));
    EXPECT_GT(gateway.counter("icmp_errors_withheld"), 0u) << "RFC 4443, 2.4 (f)";
}

TEST(Ipv6Shard, KeepsLinkLocalAddressesOnTheirLink) {
    Gateway gateway;
    gateway.from_alice(ip_packet(alice, carol));
    EXPECT_EQ(gateway.counter("dropped_link_local"), 1u);
    EXPECT_TRUE(gateway.right_link.sent.empty());
    EXPECT_TRUE(gateway.left_link.sent.empty());

    const auto alice_local = ipv6("fe80::a");
    gateway.set_neighbour(left, alice_local, alice_mac);
    gateway.from_alice(ip_packet(alice_local, bob));
    expect_error(only_packet(gateway.left_link), left_local, 1, 2, alice_local);
    EXPECT_EQ(gateway.counter("dropped_link_local"), 2u);
}

TEST(Ipv6Shard, AnswersFromAnotherPortsAddressIfItsOwnHasNone) {
    Gateway gateway;
    gateway.command(SetAddress{.port = left, .link_local = left_local});
    gateway.from_alice(ip_packet(alice, bob, 100, 1));
    expect_error(only_packet(gateway.left_link), right_ip, 3, 0);
}

TEST(Ipv6Shard, CountsGarbage) {
    Gateway gateway;
    gateway.from_alice(test::pattern(20));
    gateway.from_alice(ip_packet(ipv6("::1"), bob));
    EXPECT_EQ(gateway.counter("rx_dropped_ipv6_header"), 1u);
    EXPECT_EQ(gateway.counter("rx_dropped_ipv6_martian_source"), 1u);
    auto cut = ip_packet(right_ip, bob);
    cut.resize(39);
    gateway.from_right_kernel(cut);
    EXPECT_EQ(gateway.counter("dropped_not_carried"), 1u);
}

}  // namespace
}  // namespace verbline::router::over_ipv6

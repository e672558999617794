// SPDX-License-Identifier: BSD-3-Clause
// What a shard does with IPv6 packets; what both families have in common is in shard_test.cc.
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/router/shard.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/icmpv6.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/tcp.h"
#include "datapath/wire/text.h"
#include "pmd/base/event_descriptor.h"
#include "tests/datapath/offload/tcp_packet.h"
#include "tests/datapath/router/shard_counter.h"
#include "tests/support/checksum.h"
#include "tests/support/fake_netdev.h"
#include "tests/support/fib_readers.h"
#include "tests/support/ipv6.h"
#include "tests/support/packet.h"

namespace verbline::router::over_ipv6 {
namespace {

using forward::Ipv6NextHop, forward::NextHopKind;
using test::ByteVector, test::bytes_of;
using test::ipv6, test::ipv6_prefix;
using wire::Ethernet, wire::Ipv6, wire::Ipv6Address;

constexpr InterfaceId left{0}, right{1};
constexpr wire::MacAddress mac(unsigned n) {
    return {{std::byte{2}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, static_cast<std::byte>(n)}};
}
constexpr auto left_mac = mac(1), right_mac = mac(2), alice_mac = mac(0xa), bob_mac = mac(0xb);
const auto left_ip = ipv6("fd76:1::1"), right_ip = ipv6("fd76:2::1"), left_local = ipv6("fe80::1");
const auto alice = ipv6("fd76:1::2"), bob = ipv6("fd76:2::2"), carol = ipv6("fe80::c");

ByteVector ip_packet(const Ipv6Address& from, const Ipv6Address& to, std::size_t payload = 100, std::uint8_t hops = 64,
                     wire::IpProtocol next = wire::IpProtocol::udp, unsigned first_byte = 0) {
    ByteVector packet = test::pattern(Ipv6::size + payload);
    Ipv6{.payload_length = static_cast<std::uint16_t>(payload),
         .next_header = next,
         .hop_limit = hops,
         .source = from,
         .destination = to}
        .emit(std::span(packet).first<Ipv6::size>());
    packet[Ipv6::size] = static_cast<std::byte>(first_byte);
    return packet;
}

/// A gateway of two Ethernet ports: fd76:1::/64 left, fd76:2::/64 right.
struct Gateway {
    /// `options`: what both ports have besides.
    explicit Gateway(bool host = false, const PortSetup& options = {}) {
        fib = *forward::Fib::create({.max_routes = 64, .max_long = 64}, *readers);
        ipv6_fib = *forward::Ipv6Fib::create({.max_routes = 64, .max_long = 256}, *readers);
        EXPECT_TRUE(ipv6_fib->replace(ipv6_prefix("fd76:1::/64"), {NextHopKind::on_link, left}));
        EXPECT_TRUE(ipv6_fib->replace(ipv6_prefix("fd76:2::/64"), {NextHopKind::on_link, right}));
        EXPECT_TRUE(ipv6_fib->replace(ipv6_prefix("fd76:3::/32"), {NextHopKind::via, right, carol}));
        EXPECT_TRUE(ipv6_fib->replace(ipv6_prefix("fe80::/64"), {NextHopKind::on_link, right}));
        EXPECT_TRUE(ipv6_fib->replace({left_ip, 128}, {NextHopKind::local, left}));
        EXPECT_TRUE(ipv6_fib->replace({left_local, 128}, {NextHopKind::local, left}));
        const auto setup = [&options](std::string name, auto& link, auto& kernel, std::uint32_t mtu) {
            auto port = options;
            port.name = std::move(name), port.device = &link, port.kernel = &kernel, port.mtu = mtu;
            return port;
        };
        for (auto* kernel : {&left_kernel, &right_kernel}) kernel->capabilities().carries = pmd::Carries::ip;
        shard.emplace(ShardSetup{
            .ports = {setup("left", left_link, left_kernel, 1500), setup("right", right_link, right_kernel, 1280)},
            .fib = fib.get(),
            .ipv6_fib = ipv6_fib.get(),
            .readers = readers.get(),
            .pool = test::packet_pool(),
            .commands = &commands,
            .events = &events,
            .wake_control = &wake,
            .deliver_all_to_kernel = host});
        command(SetEthernet{left, left_mac}), command(SetEthernet{right, right_mac});
        command(SetAddress{.port = left, .ipv6 = left_ip, .link_local = left_local});
        command(SetAddress{.port = right, .ipv6 = right_ip});
        set_neighbour(left, alice, alice_mac);
    }

    void command(const Command& c) { ASSERT_TRUE(commands.push(c)); }
    void set_neighbour(InterfaceId port, const Ipv6Address& who, wire::MacAddress where) {
        const auto from = port == left ? left_mac : right_mac;
        command(SetNeighbour{port, link::gid_of(who), link::ethernet_destination(from, where, wire::ether_type::ipv6)});
        shard->poll(now);
    }
    void from_alice(const ByteVector& packet) { from_alice(std::span(&packet, 1)); }
    /// In one burst.
    void from_alice(std::span<const ByteVector> packets) {
        for (const auto& packet : packets) {
            ByteVector frame(Ethernet::size + packet.size());
            Ethernet{.destination = left_mac, .source = alice_mac, .type = wire::ether_type::ipv6}.emit(
                std::span(frame).first<Ethernet::size>());
            std::ranges::copy(packet, frame.begin() + Ethernet::size);
            left_link.receive(frame);
        }
        shard->poll(now);
    }
    void from_right_kernel(const ByteVector& packet) {
        right_kernel.receive(packet);
        shard->poll(now);
    }
    std::uint64_t counter(std::string_view wanted) const { return shard_counter(*shard, wanted); }

    test::FibReaders readers = test::fib_readers();
    std::unique_ptr<forward::Fib> fib;
    std::unique_ptr<forward::Ipv6Fib> ipv6_fib;
    test::FakeNetDevice left_link, right_link, left_kernel, right_kernel;
    Ring<Command> commands = std::move(*Ring<Command>::create("commands", 256));
    Ring<Event> events = std::move(*Ring<Event>::create("events", 256));
    EventDescriptor wake = EventDescriptor::make();
    std::optional<Shard> shard;
    Time now = 0;
};

/// The only frame that was sent.
ByteVector only_frame(test::FakeNetDevice& device) {
    EXPECT_EQ(device.sent.size(), 1u);
    if (device.sent.empty()) return ByteVector(Ethernet::size + Ipv6::size + wire::Icmpv6::size);
    auto bytes = bytes_of(device.sent.front());
    device.sent.clear();
    return bytes;
}
ByteVector only_packet(test::FakeNetDevice& device) {
    auto bytes = only_frame(device);
    bytes.erase(bytes.begin(), bytes.begin() + Ethernet::size);
    return bytes;
}

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

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/flow_hash.h"

#include <array>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/wire/deth.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "tests/datapath/link/frames.h"
#include "tests/datapath/offload/tunnel_packet.h"
#include "tests/support/hex.h"
#include "tests/support/link_frame.h"

namespace verbline::link {
namespace {

using pmd::Carries, wire::IpProtocol;
using test::ByteVector, test::from_hex, test::Way;

constexpr std::uint8_t ud_send_only = 0x64;

FrameFlowHash::Key key() {
    FrameFlowHash::Key key;
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(i * i * 37 + i * 11 + 5);
    return key;
}

ByteVector joined(ByteVector front, wire::Bytes back) {
    front.insert(front.end(), back.begin(), back.end());
    return front;
}

/// Ports 4000 and 80, as TCP and UDP have them at their front, and some payload.
ByteVector segment() {
    return joined(from_hex("0fa0 0050"), test::pattern(30));
}

ByteVector ipv4(IpProtocol protocol = IpProtocol::tcp, wire::Ipv4 ip = {}, std::size_t options = 0) {
    ip.protocol = protocol;
    ip.source = wire::ipv4(10, 1, 0, 2);
    ip.destination = wire::ipv4(10, 2, 0, 3);
    ip.header_words = static_cast<std::uint8_t>(5 + options / 4);
    const auto payload = segment();
    ip.total_length = static_cast<std::uint16_t>(ip.header_size() + payload.size());
    ByteVector packet(wire::Ipv4::size);
    ip.emit(std::span(packet).first<wire::Ipv4::size>());
    packet.resize(packet.size() + options, std::byte{1});
    return joined(packet, payload);
}

ByteVector ipv6(IpProtocol protocol = IpProtocol::udp) {
    const auto payload = segment();
    ByteVector packet(wire::Ipv6::size);
    wire::Ipv6{.payload_length = static_cast<std::uint16_t>(payload.size()),
               .next_header = protocol,
               .source = {test::our_gid.bytes},
               .destination = {test::their_gid.bytes}}
        .emit(std::span(packet).first<wire::Ipv6::size>());
    return joined(packet, payload);
}

ByteVector ethernet(wire::EtherType type, const ByteVector& packet, bool tagged = false) {
    ByteVector frame(wire::Ethernet::size + (tagged ? wire::Vlan::size : 0));
    wire::Ethernet{
        .destination = test::their_mac, .source = test::our_mac, .type = tagged ? wire::ether_type::vlan : type}
        .emit(std::span(frame).first<wire::Ethernet::size>());
    if (tagged) wire::Vlan{.id = 5, .type = type}.emit(std::span(frame).last<wire::Vlan::size>());
    return joined(frame, packet);
}

ByteVector ipoib(wire::EtherType type, const ByteVector& packet) {
    ByteVector header(wire::IpoibHeader::size);
    wire::IpoibHeader{.type = type}.emit(std::span(header).first<wire::IpoibHeader::size>());
    return joined(header, packet);
}

/// A datagram on one of the carriers of InfiniBand packets.
ByteVector carried(const Way& way, const ByteVector& datagram, std::uint8_t opcode = ud_send_only) {
    const auto envelope = test::envelope_of(way);
    ByteVector frame(envelope.size + wire::Bth::size + wire::Deth::size);
    wire::Bth{.opcode = opcode, .pad = static_cast<std::uint8_t>(-datagram.size() & 3), .dest = wire::Qpn{17}}.emit(
        std::span(frame).subspan(envelope.size).first<wire::Bth::size>());
    wire::Deth{.qkey = wire::QKey{1}, .source = wire::Qpn{18}}.emit(std::span(frame).last<wire::Deth::size>());
    frame = joined(frame, datagram);
    frame.resize(frame.size() + (-datagram.size() & 3) + trailer_size(envelope.carrier));
    test::seal_frame(frame, envelope, 0x1234);
    return frame;
}

std::string addresses(wire::Bytes frame, Carries carries = Carries::ethernet) {
    return test::to_hex(flow_of(carries, frame).addresses);
}
std::string ports(wire::Bytes frame, Carries carries = Carries::ethernet) {
    return test::to_hex(flow_of(carries, frame).ports);
}

const std::string ipv4_addresses = "0a0100020a020003";
const std::string ipv6_addresses = test::to_hex(test::our_gid.bytes) + test::to_hex(test::their_gid.bytes);
const std::string both_ports = "0fa00050";

struct NamedFrame {
    std::string name;
    ByteVector bytes;
    std::string addresses, ports;
    Carries carries = Carries::ethernet;
};

std::vector<NamedFrame> frames() {
    namespace type = wire::ether_type;
    const auto options = ipv4(IpProtocol::tcp, {}, 12);
    std::vector<NamedFrame> all{
        {"IPv4 TCP", ethernet(type::ipv4, ipv4()), ipv4_addresses, both_ports},
        {"IPv4 UDP", ethernet(type::ipv4, ipv4(IpProtocol::udp)), ipv4_addresses, both_ports},
        {"IPv4 ICMP", ethernet(type::ipv4, ipv4(IpProtocol::icmp)), ipv4_addresses, ""},
        {"IPv4 options", ethernet(type::ipv4, options), ipv4_addresses, both_ports},
        {"IPv4 tagged", ethernet(type::ipv4, ipv4(), true), ipv4_addresses, both_ports},
        {"IPv6 UDP", ethernet(type::ipv6, ipv6()), ipv6_addresses, both_ports},
        {"IPv6 ICMP", ethernet(type::ipv6, ipv6(IpProtocol::icmpv6)), ipv6_addresses, ""},
        {"IPv6 tagged", ethernet(type::ipv6, ipv6(), true), ipv6_addresses, both_ports},
        {"IPv4 alone", ipv4(), ipv4_addresses, both_ports, Carries::ip},
        {"IPv6 alone", ipv6(), ipv6_addresses, both_ports, Carries::ip},
        {"IPv4 datagram", ipoib(type::ipv4, ipv4()), ipv4_addresses, both_ports, Carries::datagram},
        {"IPv6 datagram", ipoib(type::ipv6, ipv6()), ipv6_addresses, both_ports, Carries::datagram},
    };
    for (const auto& way : test::ways()) {
        if (way.from.carrier != Carrier::soft_ib && way.from.carrier != Carrier::roce_v1) continue;
        all.push_back({way.name + " IPv4", carried(way, ipoib(type::ipv4, ipv4())), ipv4_addresses, both_ports});
        all.push_back({way.name + " IPv6", carried(way, ipoib(type::ipv6, ipv6())), ipv6_addresses, both_ports});
    }
    return all;
}

TEST(FlowHash, FindsTheFlowOnEveryCarrier) {
    for (const auto& frame : frames()) {
        EXPECT_EQ(addresses(frame.bytes, frame.carries), frame.addresses) << frame.name;
        EXPECT_EQ(ports(frame.bytes, frame.carries), frame.ports) << frame.name;
    }
}

TEST(FlowHash, FindsTheOuterFlowOfRoceV2WhosePortsAreThatOfTheInner) {
    const auto port = udp_source_port(0x12345, {}, {});
    const auto source_and_roce = from_hex("0000 12b7");
    for (const auto& way : test::ways()) {
        if (way.from.carrier != Carrier::roce_v2_ipv4 && way.from.carrier != Carrier::roce_v2_ipv6) continue;
        auto expected = source_and_roce;
        wire::store16(expected, 0, port);
        const auto frame = carried(way, ipoib(wire::ether_type::ipv4, ipv4()));
        EXPECT_EQ(ports(frame), test::to_hex(expected)) << way.name;
        const bool is_ipv4 = way.from.carrier == Carrier::roce_v2_ipv4;
        EXPECT_EQ(addresses(frame), is_ipv4 ? "0a4d00010a4d0002" : ipv6_addresses) << way.name;
    }
}

TEST(FlowHash, FragmentsAreKnownByTheirAddresses) {
    for (const auto& fragment : {wire::Ipv4{.more_fragments = true}, wire::Ipv4{.fragment_offset = 185},
                                 wire::Ipv4{.more_fragments = true, .fragment_offset = 185}}) {
        const auto frame = ethernet(wire::ether_type::ipv4, ipv4(IpProtocol::udp, fragment));
        EXPECT_EQ(addresses(frame), ipv4_addresses);
        EXPECT_EQ(ports(frame), "");
    }
    constexpr IpProtocol fragment_header{44};
    const auto frame = ethernet(wire::ether_type::ipv6, ipv6(fragment_header));
    EXPECT_EQ(addresses(frame), ipv6_addresses);
    EXPECT_EQ(ports(frame), "");
}

TEST(FlowHash, FindsTheFlowInATunnelWithoutPorts) {
    using offload::TunnelKind;
    namespace type = wire::ether_type;
    for (const auto& tunnel : offload::tunnels()) {
        const auto frame = ethernet(type::ipv4, tunnel.around(ipv4()));
        EXPECT_EQ(addresses(frame), tunnel.over_udp() ? "0a0900010a090002" : ipv4_addresses) << tunnel.name;
        EXPECT_EQ(ports(frame), tunnel.kind == TunnelKind::vxlan    ? "c35012b5"
                                : tunnel.kind == TunnelKind::geneve ? "c35017c1"
                                                                    : both_ports)
            << tunnel.name;
    }
    const auto gre = offload::tunnels()[1];
    auto fragment = gre;
    fragment.ip.more_fragments = true;
    EXPECT_EQ(addresses(ethernet(type::ipv4, fragment.around(ipv4()))), "0a0900010a090002");
    auto numbered = gre;
    numbered.headers = offload::emitted(wire::Gre{.has_sequence = true, .protocol = type::ipv4});
    numbered.headers.resize(8);
    EXPECT_EQ(addresses(ethernet(type::ipv4, numbered.around(ipv4()))), "0a0900010a090002");
    EXPECT_EQ(addresses(ethernet(type::ipv4, gre.around(from_hex("4500")))), "0a0900010a090002") << "too short";
}

TEST(FlowHash, WhatCarriesNoIpIsOfNoFlow) {
    namespace type = wire::ether_type;
    const auto soft = test::ways().back();
    auto version_5 = ipv4(), short_header = ipv4();
    version_5[0] = std::byte{0x55};
    short_header[0] = std::byte{0x44};
    auto raw = carried(soft, ipoib(type::ipv4, ipv4()));
    raw[wire::Ethernet::size + 1] &= std::byte{0xfc};  // LRH:LNH
    auto other_next_header = carried(soft, ipoib(type::ipv4, ipv4()));
    other_next_header[wire::Ethernet::size + 8 + 6] = std::byte{0};
    const std::vector<std::pair<std::string, ByteVector>> strangers{
        {"ARP", ethernet(type::arp, test::pattern(28))},
        {"ARP on IPoIB", carried(soft, ipoib(type::arp, test::pattern(56)))},
        {"a MAD", carried(soft, from_hex("0103 0192 0000 0000 0000 0000"))},
        {"RC", carried(soft, ipoib(type::ipv4, ipv4()), 0x04)},
        {"no transport", raw},
        {"a GRH without BTH", other_next_header},
        {"another version", ethernet(type::ipv4, version_5)},
        {"IPv6 told to be IPv4", ethernet(type::ipv4, ipv6())},
        {"a header too short", ethernet(type::ipv4, short_header)},
        {"an unknown EtherType", ethernet(wire::EtherType{0x88cc}, ipv4())},
        {"nothing", {}}};
    for (const auto& [name, frame] : strangers) {
        EXPECT_EQ(addresses(frame), "") << name;
        EXPECT_EQ(ports(frame), "") << name;
    }
}

/// Of the first bytes of a frame, in memory that ends with them: address sanitizer sees what is read behind.
TEST(FlowHash, TruncatedFrameReadsOnlyWhatArrived) {
    for (const auto& frame : frames()) {
        for (std::size_t size = 0; size <= frame.bytes.size(); ++size) {
            const ByteVector part(frame.bytes.begin(), frame.bytes.begin() + static_cast<std::ptrdiff_t>(size));
            const auto flow = flow_of(frame.carries, part);
            const auto ends_in = [&](wire::Bytes bytes) {
                return bytes.empty() || static_cast<std::size_t>(&bytes.back() - part.data()) < size;
            };
            ASSERT_TRUE(ends_in(flow.addresses) && ends_in(flow.ports)) << frame.name << ", " << size;
            ASSERT_TRUE(flow.addresses.empty() || test::to_hex(flow.addresses) == frame.addresses);
            ASSERT_TRUE(flow.ports.empty() || test::to_hex(flow.ports) == frame.ports);
            ASSERT_TRUE(flow.ports.empty() || !flow.addresses.empty());
        }
    }
}

TEST(FlowHash, HashesABurstAsNicsDo) {
    const FrameFlowHash flows(key());
    const offload::Toeplitz toeplitz(key());
    std::vector<test::Packet> owned;
    std::vector<rte_mbuf*> burst;
    std::vector<std::uint32_t> expected, hashes(pmd::max_burst, 1);
    for (const auto& frame : frames()) {
        if (frame.carries != Carries::ethernet) continue;
        burst.push_back(owned.emplace_back(test::make_packet(frame.bytes)).get());
        expected.push_back(toeplitz(from_hex(frame.addresses + frame.ports)));
    }
    burst.push_back(owned.emplace_back(test::make_packet(ethernet(wire::ether_type::arp, test::pattern(28)))).get());
    expected.push_back(pmd::FlowHash::none);
    flows.hash(Carries::ethernet, burst, hashes);
    hashes.resize(burst.size());
    EXPECT_EQ(hashes, expected);
    EXPECT_TRUE(std::ranges::equal(flows.key(), key()));
}

TEST(FlowHash, SpreadsFlowsThatDifferInAnything) {
    const FrameFlowHash flows(key());
    const auto hash_of = [&](const ByteVector& packet) {
        const auto owned = test::make_packet(packet);
        auto* one = owned.get();
        std::uint32_t hash = 0;
        flows.hash(Carries::ip, {&one, 1}, {&hash, 1});
        return hash;
    };
    for (const auto& packet : {ipv4(), ipv6()}) {
        const std::size_t addresses_at = packet.size() == ipv4().size() ? 12 : 8;
        const std::size_t ports_at = packet.size() - segment().size();
        for (std::size_t at = 0; at < packet.size(); ++at) {
            const bool names_the_flow = at >= addresses_at && at < ports_at + 4;
            if (at < addresses_at) continue;  // fields that may make it another kind of packet
            auto other = packet;
            other[at] ^= std::byte{0x10};
            EXPECT_EQ(hash_of(other) != hash_of(packet), names_the_flow) << at;
        }
    }
}

}  // namespace
}  // namespace verbline::link

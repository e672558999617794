// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Bursts of TCP packets over IPv4 or IPv6, and what coalescing must make of them.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <rte_mbuf.h>

#include <gtest/gtest.h>

#include "datapath/offload/gro.h"
#include "datapath/wire/tcp.h"
#include "tests/datapath/offload/on_the_wire.h"
#include "tests/datapath/offload/tcp_packet.h"
#include "tests/support/packet.h"

namespace verbline::offload {

/// What `coalesce` makes of the packets.
inline std::vector<test::Packet> coalesced(
    std::span<const test::ByteVector> in, const std::function<void(rte_mbuf&)>& prepare = [](rte_mbuf&) {}) {
    std::vector<rte_mbuf*> burst;
    for (const auto& bytes : in) {
        burst.push_back(test::make_packet(bytes).release());
        prepare(*burst.back());
    }
    const auto n = coalesce(burst);
    return {burst.begin(), burst.begin() + n};
}
inline std::size_t count(std::span<const test::ByteVector> in) {
    return coalesced(in).size();
}

/// `n` packets of one flow with timestamps. Packet: TcpPacket or Ipv6TcpPacket.
template <class Packet>
std::vector<Packet> stream_of(std::size_t n, std::size_t size) {
    std::vector<Packet> packets{{.options = timestamps(5), .payload = test::pattern(size)}};
    while (packets.size() < n)
        packets.push_back(packets.back().followed_by(size, static_cast<unsigned>(packets.size())));
    return packets;
}

template <class Packet>
std::vector<test::ByteVector> bytes(const std::vector<Packet>& packets) {
    std::vector<test::ByteVector> out;
    for (const auto& packet : packets) out.push_back(packet.bytes());
    return out;
}

/// Twenty segments of a stream and a shorter one become one packet, which comes apart as they were.
template <class Packet>
void expect_one_of_a_stream(std::uint64_t ip_flag) {
    constexpr std::size_t ip_size = decltype(Packet::ip)::size;
    auto packets = stream_of<Packet>(20, 1428);
    packets.push_back(packets.back().followed_by(100));
    packets.back().tcp.flags |= wire::tcp_flag::psh;
    auto out = coalesced(bytes(packets));
    ASSERT_EQ(out.size(), 1u);

    auto& large = *out[0];
    EXPECT_EQ(large.pkt_len, ip_size + 32 + 20 * 1428 + 100);
    EXPECT_EQ(large.nb_segs, 21);
    EXPECT_EQ(large.tso_segsz, 1428);
    EXPECT_EQ(large.l2_len, 0);
    EXPECT_EQ(large.l3_len, ip_size);
    EXPECT_EQ(large.l4_len, 32);
    EXPECT_EQ(large.ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK, ip_flag | RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_TCP_SEG);
    rte_mbuf_sanity_check(&large, 1);

    const auto whole = test::bytes_of(out[0]);
    EXPECT_TRUE(decltype(Packet::ip)::parse(whole)) << "its length is that of all";
    EXPECT_EQ(wire::Tcp::parse(std::span(whole).subspan(ip_size))->flags, wire::tcp_flag::ack | wire::tcp_flag::psh);
    EXPECT_EQ(on_the_wire(std::move(out)), bytes(packets));
}

/// What makes a packet no continuation of the one before.
template <class Packet>
struct Difference {
    const char* what;
    void (*change)(Packet&);
};

/// Two packets that would be merged, were it not for a change to the second.
template <class Packet>
void expect_apart(const Difference<Packet>& difference) {
    auto packets = stream_of<Packet>(2, 1428);
    ASSERT_EQ(count(bytes(packets)), 1u);
    difference.change(packets[1]);
    const auto in = bytes(packets);
    auto out = coalesced(in);
    ASSERT_EQ(out.size(), 2u);
    EXPECT_EQ(test::bytes_of(out[0]), in[0]);
    EXPECT_EQ(test::bytes_of(out[1]), in[1]);
    EXPECT_FALSE(is_large(out[0]) || is_large(out[1]));
}

/// The differences in TCP's header, DSCP and ECN, and `others` of this version's header.
template <class Packet>
std::vector<Difference<Packet>> differences(std::vector<Difference<Packet>> others) {
    namespace flag = wire::tcp_flag;
    const std::vector<Difference<Packet>> of_both{
        {"source_port", [](Packet& p) { ++p.tcp.source_port; }},
        {"destination_port", [](Packet& p) { ++p.tcp.destination_port; }},
        {"gap", [](Packet& p) { ++p.tcp.sequence; }},
        {"overlap", [](Packet& p) { --p.tcp.sequence; }},
        {"acknowledgement", [](Packet& p) { ++p.tcp.acknowledgement; }},
        {"window", [](Packet& p) { ++p.tcp.window; }},
        {"urgent", [](Packet& p) { ++p.tcp.urgent; }},
        {"reserved", [](Packet& p) { ++p.tcp.reserved; }},
        {"timestamp", [](Packet& p) { p.options = timestamps(6); }},
        {"fewer_options", [](Packet& p) { p.options.clear(); }},
        {"dscp", [](Packet& p) { ++p.ip.dscp; }},
        {"ecn", [](Packet& p) { p.ip.ecn = wire::Ecn::congestion_experienced; }},
        {"larger", [](Packet& p) { p.payload = test::pattern(1429); }},
        {"no_payload", [](Packet& p) { p.payload.clear(); }},
        {"fin", [](Packet& p) { p.tcp.flags |= flag::fin; }},
        {"syn", [](Packet& p) { p.tcp.flags |= flag::syn; }},
        {"rst", [](Packet& p) { p.tcp.flags |= flag::rst; }},
        {"urg", [](Packet& p) { p.tcp.flags |= flag::urg; }},
        {"ece", [](Packet& p) { p.tcp.flags |= flag::ece; }},
        {"cwr", [](Packet& p) { p.tcp.flags |= flag::cwr; }},
        {"no_ack", [](Packet& p) { p.tcp.flags = 0; }}};
    others.insert(others.end(), of_both.begin(), of_both.end());
    return others;
}

}  // namespace verbline::offload

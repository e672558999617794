// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Packets with every kind of offload request, for devices with every combination of offloads: whoever does the work,
/// what leaves is the same.

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/wire/ip.h"
#include "tests/support/offloading_device.h"

namespace verbline::link {

/// The TX offloads a device may have, one bit of a combination for each: at first those of packets outside tunnels.
inline constexpr std::array<std::uint64_t, 11> offload_bits = {
    RTE_ETH_TX_OFFLOAD_IPV4_CKSUM,      RTE_ETH_TX_OFFLOAD_TCP_CKSUM,     RTE_ETH_TX_OFFLOAD_UDP_CKSUM,
    RTE_ETH_TX_OFFLOAD_TCP_TSO,         RTE_ETH_TX_OFFLOAD_MULTI_SEGS,    RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM,
    RTE_ETH_TX_OFFLOAD_OUTER_UDP_CKSUM, RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO, RTE_ETH_TX_OFFLOAD_GENEVE_TNL_TSO,
    RTE_ETH_TX_OFFLOAD_GRE_TNL_TSO,     RTE_ETH_TX_OFFLOAD_IPIP_TNL_TSO};
inline constexpr unsigned plain_combinations = 1U << 5, offload_combinations = 1U << offload_bits.size();

inline std::uint64_t offloads_of(unsigned combination) {
    std::uint64_t offloads = 0;
    for (std::size_t i = 0; i < offload_bits.size(); ++i) {
        if ((combination >> i & 1) != 0) offloads |= offload_bits[i];
    }
    return offloads;
}

/// What is around a packet in a tunnel.
struct CaseTunnel {
    std::uint64_t flag = 0;    ///< RTE_MBUF_F_TX_TUNNEL_*; 0: there is none
    unsigned protocol = 0;     ///< in the outer IP header
    std::uint16_t port = 0;    ///< of UDP; 0: without
    bool summed = false;       ///< UDP has a checksum
    test::ByteVector headers;  ///< behind the outer IP header, or UDP
    bool over_ipv6 = false;    ///< the outer header is IPv6

    std::size_t ip_size() const { return over_ipv6 ? 40 : 20; }
    std::size_t size() const { return flag == 0 ? 0 : ip_size() + (port != 0 ? 8 : 0) + headers.size(); }
    /// `packet`, of its tunnel. Checksums are rubbish, or, where none is asked for, zero.
    test::ByteVector around(const test::ByteVector& packet) const {
        if (flag == 0) return packet;
        test::ByteVector whole(size());
        const auto payload = static_cast<std::uint16_t>(size() - ip_size() + packet.size());
        if (over_ipv6) {
            wire::store16(whole, 0, 0x6000), wire::store16(whole, 4, payload);
            wire::store8(whole, 6, static_cast<std::uint8_t>(protocol)), wire::store8(whole, 7, 64);
            wire::store32(whole, 8, 0x2001'0db8), wire::store32(whole, 24, 0x2001'0db8);
            wire::store8(whole, 23, 1), wire::store8(whole, 39, 2);
        } else {
            wire::store16(whole, 0, 0x4500), wire::store16(whole, 2, static_cast<std::uint16_t>(ip_size() + payload));
            wire::store16(whole, 4, 0xfffe);  // wraps
            wire::store8(whole, 8, 64), wire::store8(whole, 9, static_cast<std::uint8_t>(protocol));
            wire::store16(whole, 10, 0xdead);
            wire::store32(whole, 12, 0x0a09'0001), wire::store32(whole, 16, 0x0a09'0002);
        }
        if (port != 0) {
            wire::store16(whole, ip_size(), 54321), wire::store16(whole, ip_size() + 2, port);
            wire::store16(whole, ip_size() + 4, payload);
            wire::store16(whole, ip_size() + 6, summed ? 0xdead : 0);
        }
        std::ranges::copy(headers, whole.end() - static_cast<std::ptrdiff_t>(headers.size()));
        whole.insert(whole.end(), packet.begin(), packet.end());
        return whole;
    }
    /// What is asked for the outer headers: RTE_MBUF_F_TX_*.
    std::uint64_t requests() const {
        return flag | (over_ipv6 ? RTE_MBUF_F_TX_OUTER_IPV6 : RTE_MBUF_F_TX_OUTER_IPV4 | RTE_MBUF_F_TX_OUTER_IP_CKSUM) |
               (summed ? RTE_MBUF_F_TX_OUTER_UDP_CKSUM : 0);
    }
};

/// An IP packet and the work that is left to do on it. Requested checksum fields hold rubbish, as they may.
struct OffloadCase {
    std::string name;
    bool ipv6 = false;
    bool tcp = true;
    std::uint64_t requests = 0;  ///< RTE_MBUF_F_TX_*
    std::size_t payload = 100;   ///< bytes behind the TCP or UDP header
    std::uint16_t segment = 0;   ///< tso_segsz
    std::size_t buffer = 2304;   ///< bytes per mbuf of the chain
    CaseTunnel tunnel = {};

    std::size_t ip_size() const { return ipv6 ? 40 : 20; }
    std::size_t l4_size() const { return tcp ? 20 : 8; }
    std::size_t headers() const { return ip_size() + l4_size(); }  ///< without a tunnel's
    bool segments() const { return (requests & RTE_MBUF_F_TX_TCP_SEG) != 0; }

    test::ByteVector bytes() const {
        auto packet = test::pattern(headers() + payload, 3);
        const auto size = packet.size();
        std::ranges::fill(std::span(packet).first(headers()), std::byte{0});
        const auto protocol = tcp ? 6 : 17;
        if (ipv6) {
            wire::store8(packet, 0, 0x60);
            wire::store16(packet, 4, size - 40);
            wire::store8(packet, 6, protocol);
            wire::store8(packet, 7, 64);
        } else {
            wire::store16(packet, 0, 0x4500);
            wire::store16(packet, 2, size);
            wire::store8(packet, 8, 64);
            wire::store8(packet, 9, protocol);
        }
        for (std::size_t at = ipv6 ? 8 : 12; at < ip_size(); ++at) wire::store8(packet, at, at * 5);
        wire::store16(packet, ip_size(), 4000);
        wire::store16(packet, ip_size() + 2, 80);
        if (tcp) {
            wire::store32(packet, ip_size() + 4, 0xffff'f000);  // wraps within a large packet
            wire::store16(packet, ip_size() + 12, 0x5018);      // 5 words; ACK, PSH
        } else {
            wire::store16(packet, ip_size() + 4, size - ip_size());
        }
        const auto field = ip_size() + (tcp ? 16U : 6U);
        const bool l4_requested = segments() || (requests & RTE_MBUF_F_TX_L4_MASK) != 0;
        wire::store16(packet, field, l4_requested ? 0xdead : test::naive_l4_checksum(packet, ip_size()));
        if (!ipv6) {
            const bool requested = (requests & RTE_MBUF_F_TX_IP_CKSUM) != 0;
            wire::store16(packet, 10, requested ? 0xdead : test::naive_checksum(std::span(packet).first(20)));
        }
        return packet;
    }

    test::Packet packet() const {
        auto packet = test::make_packet(tunnel.around(bytes()), buffer);
        packet->ol_flags = requests | (ipv6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4);
        if (tunnel.flag != 0) {
            packet->ol_flags |= tunnel.requests();
            packet->outer_l3_len = tunnel.ip_size() & 0x1ff;
            packet->l2_len = (tunnel.size() - tunnel.ip_size()) & 0x7f;
        }
        packet->l3_len = static_cast<std::uint16_t>(ip_size()) & 0x1ff;
        packet->l4_len = static_cast<std::uint8_t>(l4_size());
        packet->tso_segsz = segment;
        return packet;
    }
};

inline std::vector<OffloadCase> offload_cases() {
    constexpr auto ip = RTE_MBUF_F_TX_IP_CKSUM, tcp = RTE_MBUF_F_TX_TCP_CKSUM, udp = RTE_MBUF_F_TX_UDP_CKSUM;
    constexpr auto cut = RTE_MBUF_F_TX_TCP_SEG | tcp;
    return {{.name = "nothing asked"},
            {.name = "nothing asked of a chain", .payload = 1200, .buffer = 500},
            {.name = "IP checksum", .requests = ip},
            {.name = "TCP checksum", .requests = tcp},
            {.name = "both", .requests = ip | tcp},
            {.name = "both, of a chain", .requests = ip | tcp, .payload = 1200, .buffer = 500},
            {.name = "UDP", .tcp = false, .requests = udp},
            {.name = "UDP and IP", .tcp = false, .requests = ip | udp},
            {.name = "TCP over IPv6", .ipv6 = true, .requests = tcp},
            {.name = "UDP over IPv6", .ipv6 = true, .tcp = false, .requests = udp},
            {.name = "segmentation", .requests = cut | ip, .payload = 2000, .segment = 500},
            {.name = "segmentation of a chain", .requests = cut | ip, .payload = 20'001, .segment = 1400},
            {.name = "segmentation alone, as of what was coalesced", .requests = cut, .payload = 2000, .segment = 500},
            {.name = "segmentation over IPv6", .ipv6 = true, .requests = cut, .payload = 20'001, .segment = 1400}};
}

/// Large packets in every kind of tunnel.
inline std::vector<OffloadCase> tunnel_cases() {
    constexpr auto cut = RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_TCP_CKSUM;
    using test::bytes_from;
    const auto followed_by_ethernet = [](test::ByteVector headers, unsigned type_high, unsigned type_low) {
        const auto frame = bytes_from(2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, type_high, type_low);
        headers.insert(headers.end(), frame.begin(), frame.end());
        return headers;
    };
    const auto vxlan = bytes_from(8, 0, 0, 0, 0, 0, 7, 0);
    const CaseTunnel ipip{.flag = RTE_MBUF_F_TX_TUNNEL_IPIP, .protocol = 4},
        gre{.flag = RTE_MBUF_F_TX_TUNNEL_GRE, .protocol = 47, .headers = bytes_from(0x20, 0, 8, 0, 1, 2, 3, 4)},
        bridged{.flag = RTE_MBUF_F_TX_TUNNEL_GRE,
                .protocol = 47,
                .headers = followed_by_ethernet(bytes_from(0, 0, 0x65, 0x58), 8, 0)},
        over_vxlan{.flag = RTE_MBUF_F_TX_TUNNEL_VXLAN,
                   .protocol = 17,
                   .port = 4789,
                   .headers = followed_by_ethernet(vxlan, 8, 0)},
        summed{.flag = RTE_MBUF_F_TX_TUNNEL_VXLAN,
               .protocol = 17,
               .port = 4789,
               .summed = true,
               .headers = followed_by_ethernet(vxlan, 8, 0)},
        ipv6{.flag = RTE_MBUF_F_TX_TUNNEL_VXLAN,
             .protocol = 17,
             .port = 4789,
             .headers = followed_by_ethernet(vxlan, 0x86, 0xdd)},
        geneve{.flag = RTE_MBUF_F_TX_TUNNEL_GENEVE,
               .protocol = 17,
               .port = 6081,
               .headers = bytes_from(1, 0, 8, 0, 0, 0, 7, 0, 1, 2, 3, 0)};
    auto ip_in_ipv6 = ipip, summed_over_ipv6 = summed;
    ip_in_ipv6.over_ipv6 = summed_over_ipv6.over_ipv6 = true;
    const auto large = [](std::string name, const CaseTunnel& tunnel, bool inner_ipv6 = false) {
        return OffloadCase{.name = std::move(name),
                           .ipv6 = inner_ipv6,
                           .requests = cut,
                           .payload = 3001,
                           .segment = 1000,
                           .tunnel = tunnel};
    };
    return {large("in IP", ipip),
            large("in GRE with a key", gre),
            large("bridged in GRE", bridged),
            large("in VXLAN", over_vxlan),
            large("in VXLAN, summed", summed),
            large("IPv6 in VXLAN", ipv6, true),
            large("in Geneve with an option", geneve),
            large("in IPv6", ip_in_ipv6),
            large("in VXLAN over IPv6, summed", summed_over_ipv6)};
}

/// What the tunnel's headers must be in one of the packets that left, which is number `count`.
inline void expect_tunnel(const CaseTunnel& tunnel, std::span<const std::byte> packet, std::size_t count) {
    const auto udp = tunnel.ip_size();
    if (tunnel.over_ipv6) {
        EXPECT_EQ(wire::load16(packet, 4), packet.size() - 40);
    } else {
        EXPECT_EQ(wire::load16(packet, 2), packet.size());
        EXPECT_EQ(wire::load16(packet, 4), static_cast<std::uint16_t>(0xfffe + count));
        EXPECT_EQ(test::naive_checksum(packet.first(20)), 0) << "outer IP checksum";
    }
    EXPECT_TRUE(std::ranges::equal(packet.subspan(tunnel.size() - tunnel.headers.size(), tunnel.headers.size()),
                                   tunnel.headers));
    if (tunnel.port == 0) return;
    EXPECT_EQ(wire::load16(packet, udp + 4), packet.size() - udp);
    if (tunnel.summed) {
        EXPECT_EQ(test::naive_l4_checksum(packet, udp), 0) << "outer UDP checksum";
    } else {
        EXPECT_EQ(wire::load16(packet, udp + 6), 0);
    }
}

/// What `packets`, the IP packets that left, must be for `sent`.
inline void expect_work_done(const OffloadCase& sent, const std::vector<test::ByteVector>& packets) {
    const auto whole = sent.bytes();
    const std::size_t limit = sent.segments() ? sent.headers() + sent.segment : whole.size();
    test::ByteVector payload;
    std::size_t count = 0;
    for (const auto& outer : packets) {
        ASSERT_GE(outer.size(), sent.tunnel.size() + sent.headers());
        if (sent.tunnel.flag != 0) expect_tunnel(sent.tunnel, outer, count++);
        const auto packet = std::span(outer).subspan(sent.tunnel.size());
        EXPECT_LE(packet.size(), limit) << "uncut";
        const auto length = wire::load16(packet, sent.ipv6 ? 4 : 2) + (sent.ipv6 ? 40U : 0U);
        EXPECT_EQ(length, packet.size());
        if (!sent.ipv6) {
            EXPECT_EQ(test::naive_checksum(packet.first(20)), 0) << "IP checksum";
        }
        EXPECT_EQ(test::naive_l4_checksum(packet, sent.ip_size()), 0) << "checksum of TCP or UDP";
        if (sent.tcp) {
            const auto sequence = 0xffff'f000U + static_cast<std::uint32_t>(payload.size());
            EXPECT_EQ(wire::load32(packet, sent.ip_size() + 4), sequence);
        }
        payload.insert(payload.end(), packet.begin() + static_cast<std::ptrdiff_t>(sent.headers()), packet.end());
    }
    EXPECT_TRUE(std::ranges::equal(payload, std::span(whole).subspan(sent.headers()))) << "payload";
}

}  // namespace verbline::link

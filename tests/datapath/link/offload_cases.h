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

/// The TX offloads a device may have, one bit of a combination for each.
inline constexpr std::array<std::uint64_t, 5> offload_bits = {
    RTE_ETH_TX_OFFLOAD_IPV4_CKSUM, RTE_ETH_TX_OFFLOAD_TCP_CKSUM, RTE_ETH_TX_OFFLOAD_UDP_CKSUM,
    RTE_ETH_TX_OFFLOAD_TCP_TSO, RTE_ETH_TX_OFFLOAD_MULTI_SEGS};
inline constexpr unsigned offload_combinations = 1U << offload_bits.size();

inline std::uint64_t offloads_of(unsigned combination) {
    std::uint64_t offloads = 0;
    for (std::size_t i = 0; i < offload_bits.size(); ++i) {
        if ((combination >> i & 1) != 0) offloads |= offload_bits[i];
    }
    return offloads;
}

/// An IP packet and the work that is left to do on it. Requested checksum fields hold rubbish, as they may.
struct OffloadCase {
    std::string name;
    bool ipv6 = false;
    bool tcp = true;
    std::uint64_t requests = 0;  ///< RTE_MBUF_F_TX_*
    std::size_t payload = 100;   ///< bytes behind the TCP or UDP header
    std::uint16_t segment = 0;   ///< tso_segsz
    std::size_t buffer = 2304;   ///< bytes per mbuf of the chain

    std::size_t ip_size() const { return ipv6 ? 40 : 20; }
    std::size_t l4_size() const { return tcp ? 20 : 8; }
    std::size_t headers() const { return ip_size() + l4_size(); }
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
        auto packet = test::make_packet(bytes(), buffer);
        packet->ol_flags = requests | (ipv6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4);
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
            {.name = "segmentation over IPv6", .ipv6 = true, .requests = cut, .payload = 20'001, .segment = 1400}};
}

/// What `packets`, the IP packets that left, must be for `sent`.
inline void expect_work_done(const OffloadCase& sent, const std::vector<test::ByteVector>& packets) {
    const auto whole = sent.bytes();
    const std::size_t limit = sent.segments() ? sent.headers() + sent.segment : whole.size();
    test::ByteVector payload;
    for (const auto& packet : packets) {
        ASSERT_GE(packet.size(), sent.headers());
        EXPECT_LE(packet.size(), limit) << "uncut";
        const auto length = wire::load16(packet, sent.ipv6 ? 4 : 2) + (sent.ipv6 ? 40U : 0U);
        EXPECT_EQ(length, packet.size());
        if (!sent.ipv6) {
            EXPECT_EQ(test::naive_checksum(std::span(packet).first(20)), 0) << "IP checksum";
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

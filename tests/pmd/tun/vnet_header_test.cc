// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/tun/vnet_header.h"

#include <cstring>

#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include <gtest/gtest.h>

#include "tests/support/packet.h"

namespace verbline::pmd {
namespace {

using test::bytes_from;
using test::ByteVector;
using test::make_packet;

constexpr std::uint8_t tcp = 6, udp = 17, sctp = 132;

template <class... Parts>
ByteVector join(const Parts&... parts) {
    ByteVector all;
    const auto append = [&](const ByteVector& part) {
        for (const auto byte : part) all.push_back(byte);
    };
    (append(parts), ...);
    return all;
}

ByteVector ipv4_header(std::size_t payload, std::uint8_t protocol) {
    const auto total = 20 + payload;
    return bytes_from(0x45, 0, total >> 8, total, 0, 1, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2);
}
ByteVector ipv6_header(std::size_t payload, std::uint8_t protocol) {
    auto header = bytes_from(0x60, 0, 0, 0, payload >> 8, payload, protocol, 64);
    const auto addresses = test::pattern(32, 9);
    return join(header, addresses);
}
/// 20 bytes, or 32 with options.
ByteVector tcp_header(std::size_t length = 20) {
    auto header =
        bytes_from(0x10, 0x01, 0x20, 0x02, 0, 0, 0, 1, 0, 0, 0, 2, (length / 4) << 4, 0x10, 1, 0, 0xde, 0xad, 0, 0);
    while (header.size() < length) header.push_back(std::byte{1});  // no-operation options
    return header;
}
ByteVector udp_header(std::size_t payload) {
    return bytes_from(0x10, 0x01, 0x20, 0x02, (8 + payload) >> 8, 8 + payload, 0xde, 0xad);
}
ByteVector ethernet_header(std::uint16_t type) {
    return bytes_from(2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, type >> 8, type);
}

ByteVector tcp_packet(std::size_t payload, std::size_t tcp_length = 20) {
    return join(ipv4_header(tcp_length + payload, tcp), tcp_header(tcp_length), test::pattern(payload));
}

VnetHeader needs_checksum(std::uint16_t start, std::uint16_t offset) {
    return {.flags = VnetHeader::needs_csum, .csum_start = start, .csum_offset = offset};
}

/// What a receiver says of the checksum after the kernel (or hardware) has done its part: sum from csum_start.
bool completes(const ByteVector& packet, const VnetHeader& header) {
    auto rest = ByteVector(packet.begin() + header.csum_start, packet.end());
    const std::uint16_t sum = static_cast<std::uint16_t>(~rte_raw_cksum(rest.data(), rest.size()));
    std::memcpy(rest.data() + header.csum_offset, &sum, sizeof(sum));
    // Pseudo-header and all must now sum to minus zero (RFC 1071).
    const bool ipv4 = static_cast<unsigned>(packet[0]) >> 4 == 4;
    const std::uint32_t total = rte_raw_cksum(rest.data(), rest.size()) +
                                (ipv4 ? rte_ipv4_phdr_cksum(reinterpret_cast<const rte_ipv4_hdr*>(packet.data()), 0)
                                      : rte_ipv6_phdr_cksum(reinterpret_cast<const rte_ipv6_hdr*>(packet.data()), 0));
    return (total & 0xffff) + (total >> 16) == 0xffff;
}

TEST(VnetHeader, NoRequestLeavesThePacketAlone) {
    const auto packet = make_packet(tcp_packet(100));
    ASSERT_TRUE(read_vnet_header({}, Carries::ip, *packet));
    EXPECT_EQ(packet->ol_flags, 0u);
}

TEST(VnetHeader, TcpChecksumBecomesARequest) {
    const auto packet = make_packet(tcp_packet(100, 32));
    ASSERT_TRUE(read_vnet_header(needs_checksum(20, 16), Carries::ip, *packet));
    EXPECT_EQ(packet->ol_flags, RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM);
    EXPECT_EQ(packet->l2_len, 0);
    EXPECT_EQ(packet->l3_len, 20);
    EXPECT_EQ(packet->l4_len, 32);
}

TEST(VnetHeader, UdpOverIpv6BehindAnEthernetHeaderAndATag) {
    const auto payload = test::pattern(50);
    for (const bool tagged : {false, true}) {
        const auto l2 = tagged ? join(ethernet_header(0x8100), bytes_from(0, 5, 0x86, 0xdd)) : ethernet_header(0x86dd);
        const auto packet = make_packet(join(l2, ipv6_header(58, udp), udp_header(50), payload));
        const auto start = static_cast<std::uint16_t>(l2.size() + 40);
        ASSERT_TRUE(read_vnet_header(needs_checksum(start, 6), Carries::ethernet, *packet));
        EXPECT_EQ(packet->ol_flags, RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_UDP_CKSUM);
        EXPECT_EQ(packet->l2_len, l2.size());
        EXPECT_EQ(packet->l3_len, 40);
        EXPECT_EQ(packet->l4_len, 8);
    }
}

TEST(VnetHeader, SegmentationBecomesARequest) {
    auto header = needs_checksum(20, 16);
    header.gso_type = VnetHeader::gso_tcpv4 | VnetHeader::gso_ecn;
    header.gso_size = 1448;
    const auto packet = make_packet(tcp_packet(30000, 32));
    ASSERT_TRUE(read_vnet_header(header, Carries::ip, *packet));
    EXPECT_EQ(packet->ol_flags,
              RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_TCP_SEG);
    EXPECT_EQ(packet->tso_segsz, 1448);
}

TEST(VnetHeader, ComputesChecksumsThatHaveNoTxFlag) {
    const auto payload = test::pattern(33);
    const auto bytes = join(ipv4_header(45, sctp), bytes_from(1, 2, 3, 4, 5, 6, 7, 8, 0x12, 0x34, 0, 0), payload);
    const auto packet = make_packet(bytes, 40);
    ASSERT_TRUE(read_vnet_header(needs_checksum(20, 8), Carries::ip, *packet));
    EXPECT_EQ(packet->ol_flags, 0u);
    const auto done = test::bytes_of(packet);
    auto expected = static_cast<std::uint16_t>(~rte_raw_cksum(bytes.data() + 20, bytes.size() - 20));
    std::uint16_t written;
    std::memcpy(&written, done.data() + 28, sizeof(written));
    EXPECT_EQ(written, expected);
}

TEST(VnetHeader, RefusesOffsetsOutsideThePacket) {
    for (const std::uint16_t start : {std::uint16_t{119}, std::uint16_t{140}, std::uint16_t{65535}}) {
        const auto packet = make_packet(tcp_packet(80));
        EXPECT_EQ(read_vnet_header(needs_checksum(start, 16), Carries::ip, *packet).error(), VnetError::offsets)
            << start;
    }
    const auto packet = make_packet(tcp_packet(80));
    EXPECT_FALSE(read_vnet_header(needs_checksum(20, 65535), Carries::ip, *packet));
}

TEST(VnetHeader, RefusesATcpHeaderLongerThanThePacketOrTooShort) {
    for (const unsigned words : {0u, 4u, 15u}) {
        auto bytes = tcp_packet(10);
        bytes[20 + 12] = static_cast<std::byte>(words << 4);
        const auto packet = make_packet(bytes);
        EXPECT_FALSE(read_vnet_header(needs_checksum(20, 16), Carries::ip, *packet)) << words;
    }
}

TEST(VnetHeader, RefusesSegmentationOfAnythingButTcp) {
    auto header = needs_checksum(20, 6);
    header.gso_size = 1000;
    for (const std::uint8_t type : {VnetHeader::gso_tcpv4, VnetHeader::gso_tcpv6, std::uint8_t{3}, std::uint8_t{5}}) {
        header.gso_type = type;
        const auto packet = make_packet(join(ipv4_header(508, udp), udp_header(500), test::pattern(500)));
        EXPECT_EQ(read_vnet_header(header, Carries::ip, *packet).error(), VnetError::segmentation) << int{type};
    }
}

TEST(VnetHeader, RefusesSegmentationWithoutSizeWithoutChecksumOrOfTheOtherFamily) {
    const VnetHeader right{.flags = VnetHeader::needs_csum,
                           .gso_type = VnetHeader::gso_tcpv4,
                           .gso_size = 100,
                           .csum_start = 20,
                           .csum_offset = 16};
    const auto refused = [](const VnetHeader& header) {
        return !read_vnet_header(header, Carries::ip, *make_packet(tcp_packet(500)));
    };
    EXPECT_FALSE(refused(right));
    auto wrong = right;
    wrong.gso_size = 0;
    EXPECT_TRUE(refused(wrong));
    wrong = right;
    wrong.flags = 0;
    EXPECT_TRUE(refused(wrong));
    wrong = right;
    wrong.gso_type = VnetHeader::gso_tcpv6;
    EXPECT_TRUE(refused(wrong));
}

TEST(VnetHeader, EveryTruncationIsRefusedOrSafe) {
    const auto whole = join(ethernet_header(0x0800), tcp_packet(0, 32));
    auto header = needs_checksum(34, 16);
    header.gso_type = VnetHeader::gso_tcpv4;
    header.gso_size = 8;
    for (std::size_t n = 1; n < whole.size(); ++n) {
        const auto packet = make_packet(std::span(whole).first(n));
        EXPECT_FALSE(read_vnet_header(header, Carries::ethernet, *packet)) << n;
    }
}

TEST(VnetHeader, AChecksumRequestIsSeededForTheKernel) {
    const auto payload = test::pattern(101);
    struct Case {
        ByteVector bytes;
        std::uint64_t flags;
        unsigned l3_len;
    };
    for (const auto& [bytes, flags, l3_len] :
         {Case{tcp_packet(101), RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM, 20},
          Case{join(ipv4_header(109, udp), udp_header(101), payload), RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM, 20},
          Case{join(ipv6_header(121, tcp), tcp_header(), payload), RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_TCP_CKSUM, 40}}) {
        const auto packet = make_packet(bytes);
        packet->ol_flags = flags;
        packet->l3_len = l3_len;
        const auto header = make_vnet_header(*packet);
        ASSERT_TRUE(header);
        EXPECT_EQ(header->flags, VnetHeader::needs_csum);
        EXPECT_EQ(header->csum_start, l3_len);
        EXPECT_TRUE(completes(test::bytes_of(packet), *header));
    }
}

TEST(VnetHeader, ASegmentationRequestCrossesWholeWithItsLengthInTheSeed) {
    const auto packet = make_packet(tcp_packet(20000, 32));
    packet->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_TCP_SEG;
    packet->l3_len = 20;
    packet->l4_len = 32;
    packet->tso_segsz = 1448;
    const auto header = make_vnet_header(*packet);
    ASSERT_TRUE(header);
    EXPECT_EQ(header->gso_type, VnetHeader::gso_tcpv4);
    EXPECT_EQ(header->gso_size, 1448);
    EXPECT_EQ(header->hdr_len, 52);
    const auto bytes = test::bytes_of(packet);
    EXPECT_TRUE(completes(bytes, *header));
    EXPECT_EQ(rte_raw_cksum(bytes.data(), 20), 0xffff) << "the IPv4 checksum was requested too";
}

TEST(VnetHeader, DatagramsCrossAsOnePacket) {
    const auto packet = make_packet(join(ipv4_header(28 + 1000, udp), udp_header(8 + 1000), test::pattern(1000)));
    packet->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_UDP_SEG;
    packet->l3_len = 20;
    packet->l4_len = 8;
    packet->tso_segsz = 64;
    const auto header = make_vnet_header(*packet);
    ASSERT_TRUE(header);
    EXPECT_EQ(header->gso_type, VnetHeader::gso_udp);
    EXPECT_EQ(header->gso_size, 64);
    EXPECT_EQ(header->hdr_len, 28);
    EXPECT_EQ(header->csum_offset, 6);
    EXPECT_TRUE(completes(test::bytes_of(packet), *header));
    packet->l4_len = 4;
    EXPECT_FALSE(make_vnet_header(*packet));
}

TEST(VnetHeader, AVerifiedChecksumIsDeclaredValid) {
    const auto packet = make_packet(tcp_packet(10));
    packet->ol_flags = RTE_MBUF_F_RX_L4_CKSUM_GOOD;
    EXPECT_EQ(make_vnet_header(*packet)->flags, VnetHeader::data_valid);
    packet->packet_type = RTE_PTYPE_TUNNEL_GRENAT;
    EXPECT_EQ(make_vnet_header(*packet)->flags, 0) << "the device means the checksum inside";
}

TEST(VnetHeader, RefusesRequestsThatReachOutsideTheFirstSegment) {
    const auto refused = [](auto change) {
        const auto packet = make_packet(tcp_packet(500), 60);
        packet->ol_flags =
            RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_TCP_SEG;
        packet->l3_len = 20;
        packet->l4_len = 20;
        packet->tso_segsz = 100;
        change(*packet);
        return !make_vnet_header(*packet);
    };
    EXPECT_FALSE(refused([](rte_mbuf&) {}));
    EXPECT_TRUE(refused([](rte_mbuf& m) { m.l2_len = 60; }));
    EXPECT_TRUE(refused([](rte_mbuf& m) { m.l3_len = 0; }));
    EXPECT_TRUE(refused([](rte_mbuf& m) { m.l3_len = 24; })) << "the packet says 20";
    EXPECT_TRUE(refused([](rte_mbuf& m) { m.l4_len = 60; }));
    EXPECT_TRUE(refused([](rte_mbuf& m) { m.l4_len = 0; }));
    EXPECT_TRUE(refused([](rte_mbuf& m) { m.tso_segsz = 0; }));
}

}  // namespace
}  // namespace verbline::pmd

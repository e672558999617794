// SPDX-License-Identifier: BSD-3-Clause
// Large TCP packets, where the adapter segments those of UD queue pairs: it does, it cannot, and it fails to.
#include <cerrno>

#include <netinet/in.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_tcp.h>

#include "pmd/base/tunables.h"
#include "tests/pmd/hca/devices.h"

namespace verbline::pmd {
namespace {

using test::ByteVector;
using test::counter;
using test::pattern;

constexpr std::uint16_t segment_size = 1000, large_header = 4 + sizeof(rte_ipv4_hdr) + sizeof(rte_tcp_hdr);

struct HcaSegmentation : test::HcaDevices {
    HcaSegmentation() {
        left.segments_for = IBV_QPT_UD;
        left.flags = IBV_DEVICE_UD_IP_CSUM;
    }

    /// A packet of IPoIB that asks for segments of 1000 bytes.
    static test::Packet large(std::size_t data, std::size_t piece = 2304, bool ipv6 = false) {
        const auto ip = ipv6 ? sizeof(rte_ipv6_hdr) : sizeof(rte_ipv4_hdr);
        auto bytes = pattern(4 + ip + sizeof(rte_tcp_hdr) + data);
        bytes[4] = ipv6 ? std::byte{0x60} : std::byte{0x45};
        bytes[4 + (ipv6 ? 6 : 9)] = std::byte{IPPROTO_TCP};
        if (!ipv6) bytes[4 + 6] = bytes[4 + 7] = std::byte{0};  // no fragment
        auto packet = test::make_packet(bytes, piece);
        packet->l2_len = 4;
        packet->l3_len = static_cast<std::uint16_t>(ip) & 0x1ff;
        packet->l4_len = sizeof(rte_tcp_hdr);
        packet->tso_segsz = segment_size;
        packet->ol_flags = RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_TCP_CKSUM |
                           (ipv6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM);
        return packet;
    }
    bool send_large(test::Packet packet) {
        const auto end = *b->datagram_end();
        return send(*a, to(end.gid), end.qpn, std::move(packet));
    }
    /// What comes, header by header and byte by byte.
    void expect_segments(const ByteVector& whole, std::size_t header = large_header) {
        std::size_t at = header;
        while (at < whole.size()) {
            const auto segment = receive(*b);
            ASSERT_TRUE(segment) << at;
            const auto bytes = test::bytes_of(segment);
            const auto size = std::min<std::size_t>(segment_size, whole.size() - at);
            ASSERT_EQ(bytes.size(), header + size);
            EXPECT_TRUE(std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(header), bytes.end(),
                                   whole.begin() + static_cast<std::ptrdiff_t>(at)));
            at += size;
        }
        EXPECT_FALSE(receive(*b));
    }
};

TEST_F(HcaSegmentation, IsOfferedForPacketsUpToItsLargest) {
    start_both();
    const auto& can = a->capabilities();
    constexpr auto needed = RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM |
                            RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
    EXPECT_EQ(can.tx_offloads & needed, needed);
    EXPECT_EQ(can.max_tso, 65536u);
    EXPECT_EQ(can.max_tso_segments, 32u);
    EXPECT_EQ(can.rx_offloads & RTE_ETH_RX_OFFLOAD_TCP_CKSUM, 0u) << "what is received is not asked for";
}

TEST_F(HcaSegmentation, ALargePacketIsOneRequestAndManyDatagrams) {
    start_both();
    for (const bool ipv6 : {false, true}) {
        const auto header = large_header + (ipv6 ? sizeof(rte_ipv6_hdr) - sizeof(rte_ipv4_hdr) : 0);
        auto packet = large(20'500, 2304, ipv6);
        const auto whole = test::bytes_of(packet);
        adapters.sent.clear();
        ASSERT_TRUE(send_large(std::move(packet)));
        EXPECT_EQ(adapters.sent.size(), 21u);
        EXPECT_NE(adapters.sent[0].flags & IBV_SEND_IP_CSUM, 0u);
        expect_segments(whole, header);
    }
    EXPECT_EQ(counter(*a, "tx_segmented_packets"), 2u);
    EXPECT_EQ(counter(*a, "tx_good_packets"), 2u);
}

/// As packets of a tun come: what the device makes of them does not change with where buffers end.
TEST_F(HcaSegmentation, PiecesMayEndAnywhere) {
    start_both();
    for (const std::size_t piece : {std::size_t{large_header}, std::size_t{large_header} + 1, std::size_t{700}}) {
        const auto before = rte_mempool_in_use_count(test::packet_pool());
        auto packet = large(1100, piece);
        const auto whole = test::bytes_of(packet);
        ASSERT_TRUE(send_large(std::move(packet)));
        expect_segments(whole);
        a->tx_burst(0, {});
        EXPECT_LE(rte_mempool_in_use_count(test::packet_pool()), before + 2);
    }
    EXPECT_EQ(counter(*a, "tx_segmented_packets"), 3u);
}

TEST_F(HcaSegmentation, TheTcpChecksumIsSeededWithoutALength) {
    start_both();
    ASSERT_TRUE(send_large(large(3000)));
    const auto& sent = adapters.sent.front().payload;
    const auto& ip = *reinterpret_cast<const rte_ipv4_hdr*>(sent.data() + 4);
    const auto& tcp = *reinterpret_cast<const rte_tcp_hdr*>(sent.data() + 4 + sizeof ip);
    EXPECT_EQ(ip.hdr_checksum, 0u);
    EXPECT_EQ(tcp.cksum, rte_ipv4_phdr_cksum(&ip, RTE_MBUF_F_TX_TCP_SEG));
    while (receive(*b)) {}
}

TEST_F(HcaSegmentation, SmallPacketsAreSentAsBefore) {
    start_both();
    EXPECT_TRUE(crosses(*a, *b));
    EXPECT_NE(adapters.sent[0].flags & IBV_SEND_INLINE, 0u);
    EXPECT_EQ(counter(*a, "tx_segmented_packets"), 0u);
}

TEST_F(HcaSegmentation, WhatContradictsItselfIsDroppedByName) {
    start_both();
    auto without_size = large(3000);
    without_size->tso_segsz = 0;
    ASSERT_TRUE(send_large(std::move(without_size)));
    auto without_data = large(0);
    ASSERT_TRUE(send_large(std::move(without_data)));
    auto cut = large(3000);
    cut->l3_len = cut->l4_len = 70;  // longer than any headers
    ASSERT_TRUE(send_large(std::move(cut)));
    EXPECT_EQ(counter(*a, "tx_dropped_bad_request"), 3u);
    auto too_wide = large(3000);
    too_wide->tso_segsz = 2048;
    ASSERT_TRUE(send_large(std::move(too_wide)));
    EXPECT_EQ(counter(*a, "tx_dropped_oversize"), 1u);
    ASSERT_TRUE(send_large(large(3000, 60)));
    EXPECT_EQ(counter(*a, "tx_dropped_segments"), 1u);
    EXPECT_TRUE(adapters.sent.empty());
    EXPECT_TRUE(crosses(*a, *b));
}

TEST_F(HcaSegmentation, IsNotOfferedWhereTheDeviceDoesNotSaySo) {
    const auto usual = left;
    const auto offered = [&](auto change) {
        left = usual;
        change();
        a = started({.device = "left0"});
        b = started({.device = "right0"});
        EXPECT_TRUE(crosses(*a, *b));
        EXPECT_EQ(counter(*a, "segmentation_errors"), 0u);
        EXPECT_EQ(a->capabilities().max_segments, 4u);
        const bool is_offered = (a->capabilities().tx_offloads & RTE_ETH_TX_OFFLOAD_TCP_TSO) != 0;
        EXPECT_EQ(a->capabilities().max_tso > 0, is_offered);
        a.reset();
        b.reset();
        return is_offered;
    };
    EXPECT_FALSE(offered([&] { left.segments_for = IBV_QPT_RAW_PACKET; })) << "as every known adapter";
    EXPECT_FALSE(offered([&] { left.flags = 0; })) << "without checksums segments are of no use";
    EXPECT_FALSE(offered([&] { left.max_tso = 0; }));
    EXPECT_FALSE(offered([&] { left.has_extended_calls = false; }));
}

TEST_F(HcaSegmentation, IsNotOfferedWhereTheDeviceMakesNoSuchQueuePair) {
    left.segment_error = EINVAL;
    a = started({.device = "left0", .queues = 2});
    b = started({.device = "right0"});
    EXPECT_EQ(a->capabilities().tx_offloads & RTE_ETH_TX_OFFLOAD_TCP_TSO, 0u);
    EXPECT_EQ(a->capabilities().tx_offloads & RTE_ETH_TX_OFFLOAD_TCP_CKSUM, 0u);
    EXPECT_EQ(counter(*a, "segmentation_errors"), 1u);
    EXPECT_TRUE(crosses(*a, *b));
}

/// As rxe, which takes such requests: the queue pair is lost once, and not by each large packet.
TEST_F(HcaSegmentation, ADeviceThatFailsAtItIsNotAskedAgain) {
    start_both();
    left.fails_to_segment = true;
    ASSERT_TRUE(send_large(large(3000)));
    a->tx_burst(0, {});
    EXPECT_EQ(counter(*a, "tx_errors"), 1u);
    EXPECT_FALSE(a->segments());
    EXPECT_TRUE(a->link_up());
    EXPECT_EQ(counter(*a, "queue_pair_resets"), 1u);
    ASSERT_TRUE(send_large(large(3000)));
    EXPECT_EQ(counter(*a, "tx_dropped_segmentation"), 1u);
    EXPECT_TRUE(a->link_up());
    EXPECT_EQ(counter(*a, "queue_pair_resets"), 1u);
    EXPECT_TRUE(crosses(*a, *b));

    left.fails_to_segment = false;
    left.there = false;
    EXPECT_FALSE(a->link_up());
    left.there = true;
    now += tunables::hca_reopen_period;
    EXPECT_FALSE(a->link_up());
    EXPECT_TRUE(a->link_up());
    EXPECT_TRUE(a->segments()) << "perhaps with other firmware";
    ASSERT_TRUE(send_large(large(3000)));
    EXPECT_EQ(counter(*a, "tx_segmented_packets"), 2u) << "the one that failed was given to it, too";
    while (receive(*b)) {}
}

TEST_F(HcaSegmentation, ADeviceThatComesBackWithoutItIsNotAsked) {
    start_both();
    EXPECT_TRUE(a->segments());
    left.there = false;
    EXPECT_FALSE(a->link_up());
    left.there = true;
    left.segments_for = IBV_QPT_RAW_PACKET;
    now += tunables::hca_reopen_period;
    EXPECT_FALSE(a->link_up());
    EXPECT_TRUE(a->link_up());
    EXPECT_FALSE(a->segments());
    ASSERT_TRUE(send_large(large(3000)));
    EXPECT_EQ(counter(*a, "tx_dropped_segmentation"), 1u);
}

TEST_F(HcaSegmentation, OtherFailuresSayNothingAboutIt) {
    start_both();
    left.send_status = IBV_WC_LOC_QP_OP_ERR;
    ASSERT_TRUE(send(*a, *b, pattern(500)));
    a->tx_burst(0, {});
    left.send_status = IBV_WC_SUCCESS;
    EXPECT_TRUE(a->link_up());
    auto packet = large(2500);
    const auto whole = test::bytes_of(packet);
    EXPECT_TRUE(a->segments());
    ASSERT_TRUE(send_large(std::move(packet)));
    expect_segments(whole);
}

}  // namespace
}  // namespace verbline::pmd

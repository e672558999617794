// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/ipoib/packets.h"

#include <array>

#include <gtest/gtest.h>

#include "datapath/offload/gro_segment.h"
#include "datapath/offload/packet.h"
#include "datapath/wire/ipv4.h"
#include "tests/support/packet.h"

namespace verbline::ipoib_bench {
namespace {

constexpr std::uint16_t mtu = 1500;

Packets packets_of(std::uint32_t size, bool requests) {
    return Packets::make({.size = size, .requests = requests}, mtu, *test::packet_pool()).value();
}
std::vector<test::Packet> filled(const Packets& packets, std::size_t count, std::size_t first = 0) {
    std::array<rte_mbuf*, pmd::max_burst> burst;
    EXPECT_TRUE(packets.fill(pmd::Burst(burst).first(count), first, *test::packet_pool()));
    return {burst.begin(), burst.begin() + static_cast<std::ptrdiff_t>(count)};
}

TEST(IpoibPackets, CompleteOnesHaveRightChecksums) {
    for (const std::uint32_t size : {28u, 64u, 1499u, 1500u}) {
        const auto packets = packets_of(size, false);
        EXPECT_EQ(packets.pieces(), 1u);
        EXPECT_EQ(packets.frames(), 1u);
        for (const auto& packet : filled(packets, 2)) {
            EXPECT_EQ(packet->pkt_len, size);
            EXPECT_EQ(packet->ol_flags, 0u);
            EXPECT_TRUE(offload::intact(*packet, 0)) << size;
        }
    }
}

TEST(IpoibPackets, ALargeOneIsASegmentForEachFrame) {
    const auto packets = packets_of(65535, false);
    EXPECT_EQ(packets.pieces(), 45u);
    EXPECT_EQ(packets.frames(), 45u);
    std::size_t payload = 0;
    for (const auto& packet : filled(packets, 45)) {
        EXPECT_LE(packet->pkt_len, mtu);
        EXPECT_EQ(packet->ol_flags, 0u);
        EXPECT_TRUE(offload::intact(*packet, 0));
        payload += packet->pkt_len - 40;
    }
    EXPECT_EQ(payload, 65495u);
    const auto around = filled(packets, 2, 44);
    EXPECT_EQ(around[1]->pkt_len, mtu) << "the first one again";
}

TEST(IpoibPackets, RequestsAreInTheFlags) {
    const auto udp = filled(packets_of(64, true), 1);
    EXPECT_EQ(udp[0]->ol_flags, RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM);
    EXPECT_FALSE(offload::intact(*udp[0], 0));
    const auto packets = packets_of(65535, true);
    EXPECT_EQ(packets.pieces(), 1u);
    EXPECT_EQ(packets.frames(), 45u);
    const auto tcp = filled(packets, 1);
    EXPECT_EQ(tcp[0]->pkt_len, 65535u);
    EXPECT_EQ(tcp[0]->tso_segsz, mtu - 40);
    EXPECT_NE(tcp[0]->ol_flags & RTE_MBUF_F_TX_TCP_SEG, 0u);
}

TEST(IpoibPackets, AnEmptyPoolIsSaid) {
    const auto packets = packets_of(65535, true);
    auto* const small = rte_pktmbuf_pool_create("few", 15, 0, 0, test::Eal::data_room, SOCKET_ID_ANY);
    ASSERT_NE(small, nullptr);
    std::array<rte_mbuf*, 1> burst;
    EXPECT_FALSE(packets.fill(burst, 0, *small));
    EXPECT_EQ(rte_mempool_avail_count(small), 15u) << "nothing is kept";
    EXPECT_EQ(Packets::make({.size = 65535}, mtu, *small).error().what, "no packet buffer is free");
    EXPECT_EQ(rte_mempool_avail_count(small), 15u);
    rte_mempool_free(small);
}

}  // namespace
}  // namespace verbline::ipoib_bench

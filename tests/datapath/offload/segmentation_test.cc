// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/offload/segmentation.h"

#include <algorithm>
#include <vector>

#include <rte_mbuf.h>

#include <gtest/gtest.h>

#include "datapath/wire/ipv6.h"
#include "tests/datapath/offload/tcp_packet.h"
#include "tests/support/packet.h"

namespace verbline::offload {
namespace {

using test::bytes_of;
using test::ByteVector;
using test::make_packet;
using test::packet_pool;
using test::pattern;
namespace flag = wire::tcp_flag;

/// As the kernel or GRO hands it over.
rte_mbuf* large(const TcpPacket& tcp, std::uint16_t segment_size, std::size_t mbuf_size = 2304) {
    const auto bytes = tcp.bytes();
    auto* packet = make_packet(bytes, mbuf_size).release();
    packet->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_TCP_SEG;
    packet->l3_len = 20;
    packet->l4_len = 20 + tcp.options.size();
    packet->tso_segsz = segment_size;
    return packet;
}

std::vector<test::Packet> segments(rte_mbuf* packet, std::size_t burst = 64) {
    Segmenter segmenter(packet, *packet_pool());
    EXPECT_TRUE(segmenter.valid());
    std::vector<test::Packet> out;
    std::vector<rte_mbuf*> some(burst);
    while (const auto n = segmenter.next(some)) {
        for (unsigned i = 0; i < n; ++i) out.emplace_back(some[i]);
    }
    EXPECT_TRUE(segmenter.done());
    return out;
}

/// What a sender with that segment size would have sent.
std::vector<ByteVector> expected(const TcpPacket& tcp, std::size_t segment_size) {
    std::vector<ByteVector> out;
    for (std::size_t at = 0; at == 0 || at < tcp.payload.size(); at += segment_size) {
        auto one = tcp;
        const auto size = std::min(segment_size, tcp.payload.size() - at);
        one.payload.assign(tcp.payload.begin() + static_cast<std::ptrdiff_t>(at),
                           tcp.payload.begin() + static_cast<std::ptrdiff_t>(at + size));
        one.tcp.sequence += static_cast<std::uint32_t>(at);
        one.ip.identification = static_cast<std::uint16_t>(one.ip.identification + out.size());
        if (at > 0) one.tcp.flags &= static_cast<std::uint8_t>(~flag::cwr);
        if (at + size < tcp.payload.size()) one.tcp.flags &= static_cast<std::uint8_t>(~(flag::fin | flag::psh));
        out.push_back(one.bytes());
    }
    return out;
}

void expect_segments(const TcpPacket& tcp, std::uint16_t segment_size, std::size_t mbuf_size = 2304) {
    const auto want = expected(tcp, segment_size);
    const auto got = segments(large(tcp, segment_size, mbuf_size), 7);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(bytes_of(got[i]), want[i]) << "segment " << i;
        EXPECT_EQ(got[i]->nb_segs, 1);
        EXPECT_EQ(got[i]->ol_flags, 0u) << "nothing is left to be done";
        EXPECT_GE(rte_pktmbuf_headroom(got[i].get()), 128);
        EXPECT_GE(rte_pktmbuf_tailroom(got[i].get()), segment_tailroom);
    }
}

TcpPacket example(std::size_t payload) {
    TcpPacket tcp{.options = timestamps(77), .payload = pattern(payload)};
    tcp.tcp.sequence = 0xffff'f000;  // wraps on the way
    tcp.ip.identification = 0xfffe;
    tcp.tcp.flags = flag::ack | flag::psh | flag::fin | flag::cwr | flag::ece;
    return tcp;
}

TEST(Segmenter, MakesWhatASenderWouldHaveSent) {
    for (const std::uint16_t segment_size : {536, 1448, 1992}) {
        for (const std::size_t payload : {1, 535, 536, 537, 1448, 10'000, 65'000}) {
            expect_segments(example(payload), segment_size);
        }
    }
}

TEST(Segmenter, ReadsChainsCutAnywhere) {
    for (const std::size_t mbuf_size : {52, 53, 97, 777}) expect_segments(example(4000), 1447, mbuf_size);
}

TEST(Segmenter, SendsAPacketWithoutPayloadOnce) {
    expect_segments(example(0), 1448);
}

TEST(Segmenter, MakesMoreSegmentsThanABurstHolds) {
    EXPECT_EQ(segments(large(example(60'000), 100)).size(), 600u);
}

TEST(Segmenter, NeverMakesSegmentsThatNoMbufHolds) {
    const auto got = segments(large(example(9000), 8948));
    std::size_t total = 0;
    for (const auto& segment : got) {
        EXPECT_EQ(segment->nb_segs, 1);
        EXPECT_GE(rte_pktmbuf_tailroom(segment.get()), segment_tailroom);
        total += segment->pkt_len - 52;
    }
    EXPECT_EQ(total, 9000u);
    EXPECT_EQ(got.size(), 5u);
}

TEST(Segmenter, GoesOnWhenThePoolHasMbufsAgain) {
    const auto tcp = example(20'000);
    Segmenter segmenter(large(tcp, 1448), *packet_pool());
    std::vector<rte_mbuf*> hoard(rte_mempool_avail_count(packet_pool()) - 5);
    ASSERT_EQ(rte_pktmbuf_alloc_bulk(packet_pool(), hoard.data(), static_cast<unsigned>(hoard.size())), 0);

    std::vector<rte_mbuf*> got(64);
    auto n = segmenter.next(got);
    EXPECT_EQ(n, 5);
    EXPECT_FALSE(segmenter.done());
    EXPECT_EQ(segmenter.next(std::span(got).subspan(n)), 0);
    rte_pktmbuf_free_bulk(hoard.data(), static_cast<unsigned>(hoard.size()));
    n = static_cast<std::uint16_t>(n + segmenter.next(std::span(got).subspan(n)));
    EXPECT_TRUE(segmenter.done());

    const auto want = expected(tcp, 1448);
    ASSERT_EQ(n, want.size());
    for (std::size_t i = 0; i < n; ++i) {
        EXPECT_EQ(bytes_of(got[i]), want[i]);
        rte_pktmbuf_free(got[i]);
    }
}

TEST(Segmenter, KeepsWhatTheDeviceSaidOfThePacket) {
    auto* packet = large(example(3000), 1448);
    packet->port = 3;
    packet->hash.rss = 0x1234;
    packet->ol_flags |= RTE_MBUF_F_RX_RSS_HASH | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
    for (const auto& segment : segments(packet)) {
        EXPECT_EQ(segment->port, 3);
        EXPECT_EQ(segment->hash.rss, 0x1234u);
        EXPECT_EQ(segment->ol_flags, RTE_MBUF_F_RX_RSS_HASH);
    }
}

TEST(Segmenter, SegmentsIpv6) {
    const auto payload = pattern(3001);
    ByteVector bytes(60 + payload.size());
    wire::Ipv6 ip{.dscp = 3, .flow_label = 0x12345, .next_header = wire::IpProtocol::tcp};
    ip.source.bytes[0] = std::byte{0xfd}, ip.destination.bytes[15] = std::byte{2};
    ip.emit(std::span(bytes).first<40>());
    wire::Tcp{.sequence = 5, .flags = flag::ack | flag::psh}.emit(std::span(bytes).subspan<40, 20>());
    std::ranges::copy(payload, bytes.begin() + 60);
    auto* packet = make_packet(bytes).release();
    packet->ol_flags = RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_TCP_SEG;
    packet->l3_len = 40, packet->l4_len = 20, packet->tso_segsz = 1440;

    ByteVector joined;
    for (const auto& segment : segments(packet)) {
        const auto one = bytes_of(segment);
        const auto header = wire::Ipv6::parse(one);
        ASSERT_TRUE(header);
        EXPECT_EQ(header->payload_length, one.size() - 40);
        EXPECT_EQ(header->flow_label, 0x12345u);
        EXPECT_EQ(naive_checksum(std::span(one).subspan(8), 6 + header->payload_length), 0);
        EXPECT_EQ(wire::Tcp::parse(std::span(one).subspan(40))->sequence, 5 + joined.size());
        joined.insert(joined.end(), one.begin() + 60, one.end());
    }
    EXPECT_EQ(joined, payload);
}

TEST(Segmenter, RefusesHeadersThatAreNotThere) {
    const auto refused = [](auto spoil) {
        auto* packet = large(example(3000), 1448);
        spoil(*packet);
        Segmenter segmenter(packet, *packet_pool());
        std::vector<rte_mbuf*> out(4);
        return !segmenter.valid() && segmenter.next(out) == 0 && !segmenter.done();
    };
    EXPECT_TRUE(refused([](rte_mbuf& p) { p.l3_len = 19; }));
    EXPECT_TRUE(refused([](rte_mbuf& p) { p.l4_len = 19; }));
    EXPECT_TRUE(refused([](rte_mbuf& p) { p.l3_len = 511, p.l4_len = 255; }));
    EXPECT_TRUE(refused([](rte_mbuf& p) { p.tso_segsz = 0; }));
    EXPECT_TRUE(refused([](rte_mbuf& p) { *rte_pktmbuf_mtod(&p, std::byte*) = std::byte{0x60}; }))
        << "IPv6 in 20 bytes";
    EXPECT_FALSE(refused([](rte_mbuf&) {}));

    auto* packet = large(example(3000), 1448, 51);
    EXPECT_FALSE(Segmenter(packet, *packet_pool()).valid()) << "headers in two segments";
}

}  // namespace
}  // namespace verbline::offload

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/forward/fragment.h"

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include <rte_mbuf.h>

#include <gtest/gtest.h>

#include "datapath/offload/checksum.h"
#include "datapath/wire/ipv4.h"
#include "tests/support/packet.h"

namespace verbline::forward {
namespace {

using test::bytes_from;
using test::bytes_of;
using test::ByteVector;
using test::make_packet;
using test::packet_pool;

ByteVector packet(std::size_t payload, wire::Ipv4 ip = {}, const ByteVector& options = {}) {
    ip.header_words = static_cast<std::uint8_t>(5 + options.size() / 4);
    ip.total_length = static_cast<std::uint16_t>(20 + options.size() + payload);
    ip.identification = 0x4321;
    ip.protocol = wire::IpProtocol::udp;
    ip.source = wire::ipv4(10, 0, 0, 1), ip.destination = wire::ipv4(10, 0, 0, 2);
    ByteVector bytes(ip.total_length);
    ip.emit(std::span(bytes).first<20>());
    std::ranges::copy(options, bytes.begin() + 20);
    std::ranges::copy(test::pattern(payload), bytes.end() - static_cast<std::ptrdiff_t>(payload));
    wire::store16(bytes, 10, wire::InternetChecksum().add(wire::Bytes(bytes).first(20 + options.size())).value());
    return bytes;
}

std::vector<test::Packet> fragments(rte_mbuf& whole, std::uint32_t mtu, std::size_t room = max_fragments) {
    std::vector<rte_mbuf*> out(room);
    const auto n = fragment(whole, mtu, *packet_pool(), out);
    std::vector<test::Packet> pieces;
    for (auto* piece : std::span(out).first(n)) pieces.emplace_back(piece);
    return pieces;
}
std::size_t count(const ByteVector& bytes, std::uint32_t mtu) {
    return fragments(*make_packet(bytes), mtu).size();
}

/// What a receiver puts together (RFC 791, 3.2), each fragment checked on the way. `base` is the offset of the first.
ByteVector reassembled(const std::vector<test::Packet>& pieces, std::uint32_t mtu, bool more = false,
                       std::size_t base = 0) {
    ByteVector payload;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const auto bytes = bytes_of(pieces[i]);
        const auto ip = wire::Ipv4::parse(bytes);
        if (!ip) {
            ADD_FAILURE() << "fragment " << i << " is no IPv4 packet";
            break;
        }
        EXPECT_LE(bytes.size(), mtu);
        EXPECT_EQ(ip->total_length, bytes.size());
        EXPECT_TRUE(wire::Ipv4::checksum_ok(std::span(bytes).first(ip->header_size())));
        EXPECT_EQ(ip->identification, 0x4321);
        EXPECT_EQ(ip->fragment_offset * 8u, base + payload.size());
        EXPECT_EQ(ip->more_fragments, more || i + 1 < pieces.size());
        EXPECT_EQ(pieces[i]->nb_segs, 1);
        EXPECT_GE(rte_pktmbuf_headroom(pieces[i].get()), 128);
        payload.insert(payload.end(), bytes.begin() + static_cast<std::ptrdiff_t>(ip->header_size()), bytes.end());
    }
    return payload;
}

TEST(Fragment, CanBePutTogetherAgain) {
    std::mt19937 random(3);
    for (int round = 0; round < 300; ++round) {
        const auto payload = 1 + random() % 9000;
        const auto mtu = static_cast<std::uint32_t>(200 + random() % 2000);
        const auto whole = make_packet(packet(payload), 100 + random() % 2000);
        ASSERT_EQ(reassembled(fragments(*whole, mtu), mtu), test::pattern(payload)) << payload << " bytes at " << mtu;
    }
}

TEST(Fragment, MakesAsFewAsPossible) {
    EXPECT_EQ(count(packet(1480), 1500), 1u);
    EXPECT_EQ(count(packet(1481), 1500), 2u);
    EXPECT_EQ(count(packet(2 * 1480), 1500), 2u);
    EXPECT_EQ(count(packet(2 * 1480 + 1), 1500), 3u);
    EXPECT_EQ(count(packet(64), 68), 2u) << "48 bytes fit behind the header, all 64 do not";
}

TEST(Fragment, OfAFragmentGoesOnWhereThatBegan) {
    const auto whole = make_packet(packet(3000, {.more_fragments = true, .fragment_offset = 100}));
    // 3000 is a multiple of eight, as the payload of every fragment but the last must be.
    EXPECT_EQ(reassembled(fragments(*whole, 700), 700, true, 800), test::pattern(3000));
}

TEST(Fragment, CopiesOnlyTheOptionsThatSaySo) {
    const auto router_alert = bytes_from(0x94, 4, 0, 0), record_route = bytes_from(7, 7, 4, 0, 0, 0, 0, 1);
    auto options = record_route;
    options.insert(options.end(), router_alert.begin(), router_alert.end());
    const auto pieces = fragments(*make_packet(packet(1000, {}, options)), 500);
    ASSERT_EQ(pieces.size(), 3u);
    EXPECT_EQ(reassembled(pieces, 500), test::pattern(1000));
    const auto first = bytes_of(pieces[0]), second = bytes_of(pieces[1]);
    EXPECT_EQ(first[0], std::byte{0x48});
    EXPECT_TRUE(std::ranges::equal(std::span(first).subspan(20, 12), options));
    EXPECT_EQ(second[0], std::byte{0x46});
    EXPECT_TRUE(std::ranges::equal(std::span(second).subspan(20, 4), router_alert));
}

TEST(Fragment, PadsOptionsToWholeWords) {
    const auto pieces = fragments(*make_packet(packet(1000, {}, bytes_from(0x94, 3, 7, 1))), 500);
    EXPECT_EQ(reassembled(pieces, 500), test::pattern(1000));
    const auto second = bytes_of(pieces.at(1));
    EXPECT_TRUE(std::ranges::equal(std::span(second).subspan(20, 4), bytes_from(0x94, 3, 7, 0)));
}

TEST(Fragment, SurvivesOptionsThatMakeNoSense) {
    for (const auto& options : {bytes_from(0x94, 0, 0, 0), bytes_from(0x94, 1, 0, 0), bytes_from(0x94, 5, 0, 0),
                                bytes_from(1, 1, 1, 0x94), bytes_from(0, 0x94, 4, 0)}) {
        const auto pieces = fragments(*make_packet(packet(1000, {}, options)), 500);
        EXPECT_EQ(reassembled(pieces, 500), test::pattern(1000));
        EXPECT_EQ(bytes_of(pieces.at(1))[0], std::byte{0x45});
    }
}

TEST(Fragment, WritesPendingChecksumsFirst) {
    const auto whole = make_packet(packet(2000));
    whole->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM;
    whole->l3_len = 20;
    const auto joined = reassembled(fragments(*whole, 1000), 1000);
    const auto ip = packet(2000);
    EXPECT_EQ(offload::pseudo_header(ip, wire::IpProtocol::udp, 2000).add(joined).checksum(), 0);
}

TEST(Fragment, IsAllOrNothing) {
    EXPECT_EQ(fragments(*make_packet(packet(3000)), 1000, 4).size(), 4u);
    EXPECT_TRUE(fragments(*make_packet(packet(3000)), 1000, 3).empty()) << "would be four";
    EXPECT_TRUE(fragments(*make_packet(packet(3000)), 27).empty()) << "no eight bytes fit";
    EXPECT_TRUE(fragments(*make_packet(packet(3000, {.fragment_offset = 8000})), 1000).empty()) << "ends beyond 64 KB";

    const auto whole = make_packet(packet(3000));
    std::vector<rte_mbuf*> hoard(rte_mempool_avail_count(packet_pool()) - 3);
    ASSERT_EQ(rte_pktmbuf_alloc_bulk(packet_pool(), hoard.data(), static_cast<unsigned>(hoard.size())), 0);
    EXPECT_TRUE(fragments(*whole, 1000).empty());
    EXPECT_EQ(rte_mempool_avail_count(packet_pool()), 3u) << "what was made is given back";
    rte_pktmbuf_free_bulk(hoard.data(), static_cast<unsigned>(hoard.size()));
}

TEST(Fragment, NeverMakesFragmentsThatNoMbufHolds) {
    const auto pieces = fragments(*make_packet(packet(8000)), 9000);
    EXPECT_EQ(pieces.size(), 4u);
    EXPECT_EQ(reassembled(pieces, 2304), test::pattern(8000));
}

}  // namespace
}  // namespace verbline::forward

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/offload/udp_gro.h"

#include <algorithm>
#include <random>
#include <span>
#include <vector>

#include <rte_mbuf.h>

#include <gtest/gtest.h>

#include "datapath/offload/checksum.h"
#include "tests/datapath/offload/udp_packet.h"
#include "tests/support/packet.h"

namespace verbline::offload {
namespace udp_gro_test {
namespace {

using test::ByteVector;

std::vector<test::Packet> merged(std::span<const ByteVector> in, std::uint64_t flags = 0) {
    std::vector<rte_mbuf*> burst;
    for (const auto& bytes : in) {
        burst.push_back(test::make_packet(bytes).release());
        burst.back()->ol_flags |= flags;
    }
    const auto n = coalesce_datagrams(burst);
    return {burst.begin(), burst.begin() + n};
}

template <class Packet>
std::vector<ByteVector> stream(std::size_t n, std::size_t size) {
    std::vector<ByteVector> packets;
    for (Packet packet{.payload = test::pattern(size)}; packets.size() < n;
         packet = packet.followed_by(size, static_cast<unsigned>(packets.size())))
        packets.push_back(packet.bytes());
    return packets;
}

/// What a kernel makes of a packet: its datagrams, with headers and checksums of their own (UDP GSO).
template <class Packet>
std::vector<ByteVector> parted(const test::Packet& packet) {
    using Ip = decltype(Packet::ip);
    const auto whole = test::bytes_of(packet);
    if ((packet->ol_flags & RTE_MBUF_F_TX_UDP_SEG) == 0) return {whole};
    std::vector<ByteVector> datagrams;
    Packet next{.ip = *Ip::parse(whole), .udp = *wire::Udp::parse(std::span(whole).subspan(Ip::size))};
    next.udp.checksum = 0;
    auto rest = std::span(whole).subspan(Ip::size + wire::Udp::size);
    while (!rest.empty()) {
        const auto payload = rest.first(std::min<std::size_t>(rest.size(), packet->tso_segsz));
        next.payload.assign(payload.begin(), payload.end());
        datagrams.push_back(next.bytes());
        count_up(next.ip);
        rest = rest.subspan(payload.size());
    }
    return datagrams;
}
template <class Packet>
std::vector<ByteVector> parted(const std::vector<test::Packet>& packets) {
    std::vector<ByteVector> all;
    for (const auto& packet : packets) std::ranges::move(parted<Packet>(packet), std::back_inserter(all));
    return all;
}

template <class Packet>
struct UdpGro : testing::Test {};
using Families = testing::Types<UdpPacket, Ipv6UdpPacket>;
TYPED_TEST_SUITE(UdpGro, Families);

TYPED_TEST(UdpGro, MergesTheDatagramsOfAFlow) {
    constexpr std::size_t ip_size = decltype(TypeParam::ip)::size;
    auto in = stream<TypeParam>(21, 64);
    TypeParam last{};
    for (std::size_t i = 0; i < in.size(); ++i) last = last.followed_by(5);
    in.push_back(last.bytes());
    const auto out = merged(in);
    ASSERT_EQ(out.size(), 1U);

    auto& large = *out[0];
    EXPECT_EQ(large.pkt_len, ip_size + 8 + 21 * 64 + 5);
    EXPECT_EQ(large.nb_segs, 22);
    EXPECT_EQ(large.tso_segsz, 64);
    EXPECT_EQ(large.l2_len, 0);
    EXPECT_EQ(large.l3_len, ip_size);
    EXPECT_EQ(large.l4_len, 8);
    EXPECT_EQ(large.ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK,
              RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_UDP_SEG |
                  (ip_size == wire::Ipv6::size ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4));
    rte_mbuf_sanity_check(&large, 1);
    const auto whole = test::bytes_of(out[0]);
    EXPECT_TRUE(decltype(TypeParam::ip)::parse(whole)) << "its length is that of all, and its checksum is right";
    EXPECT_EQ(wire::Udp::parse(std::span(whole).subspan(ip_size))->length, large.pkt_len - ip_size);
    EXPECT_EQ(parted<TypeParam>(out), in);
}

TYPED_TEST(UdpGro, EndsAPacketWithAShorterDatagram) {
    const auto first = TypeParam{}, second = first.followed_by(20), third = second.followed_by(20),
               fourth = third.followed_by(64);
    const std::vector in{first.bytes(), second.bytes(), third.bytes(), fourth.bytes()};
    const auto out = merged(in);
    EXPECT_EQ(out.size(), 3U);
    EXPECT_EQ(parted<TypeParam>(out), in);
}

TYPED_TEST(UdpGro, BeginsAnewWithALargerDatagram) {
    const auto first = TypeParam{}, second = first.followed_by(65), third = second.followed_by(64);
    const std::vector in{first.bytes(), second.bytes(), third.bytes()};
    const auto out = merged(in);
    EXPECT_EQ(out.size(), 2U);
    EXPECT_EQ(parted<TypeParam>(out), in);
}

TYPED_TEST(UdpGro, MergesFlowsThatTakeTurns) {
    TypeParam a{}, b{};
    ++b.udp.source_port;
    std::vector<ByteVector> in;
    for (int i = 0; i < 6; ++i) {
        in.push_back(a.bytes()), in.push_back(b.bytes());
        a = a.followed_by(64), b = b.followed_by(64);
    }
    const auto out = merged(in);
    ASSERT_EQ(out.size(), 2U);
    for (const auto& packet : out) EXPECT_EQ(packet->nb_segs, 6);
}

TYPED_TEST(UdpGro, StaysBelowTheLongestPacket) {
    const auto in = stream<TypeParam>(60, 1400);
    const auto out = merged(in);
    ASSERT_EQ(out.size(), 2U);
    for (const auto& packet : out) EXPECT_LE(packet->pkt_len, 0xffffU);
    EXPECT_EQ(parted<TypeParam>(out), in);
}

template <class Packet>
struct Change {
    const char* what;
    void (*change)(Packet&);
};

/// Three packets, of which the second is not like the others: none is merged, and none passes another.
template <class Packet>
void expect_apart(const Change<Packet>& change) {
    SCOPED_TRACE(change.what);
    const auto first = Packet{}, third = first.followed_by(64).followed_by(64);
    auto second = first.followed_by(64);
    change.change(second);
    const std::vector in{first.bytes(), second.bytes(), third.bytes()};
    std::vector<ByteVector> out;
    for (const auto& packet : merged(in)) {
        EXPECT_EQ(packet->ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK, 0U);
        out.push_back(test::bytes_of(packet));
    }
    EXPECT_EQ(out, in);
}

TYPED_TEST(UdpGro, LeavesWhatDiffers) {
    for (const auto& change : {Change<TypeParam>{"dscp", [](auto& p) { ++p.ip.dscp; }},
                               {"empty", [](auto& p) { p.payload.clear(); }},
                               {"no checksum", [](auto& p) { p.has_checksum = false; }}})
        expect_apart(change);
}

TEST(UdpGroIpv4, LeavesWhatDiffers) {
    for (const auto& change : {Change<UdpPacket>{"TTL", [](auto& p) { --p.ip.time_to_live; }},
                               {"may be fragmented", [](auto& p) { p.ip.dont_fragment = false; }},
                               {"fragment", [](auto& p) { p.ip.more_fragments = true; }},
                               {"end of a fragmented packet", [](auto& p) { p.ip.fragment_offset = 10; }}})
        expect_apart(change);
}

TEST(UdpGroIpv6, LeavesWhatDiffers) {
    for (const auto& change : {Change<Ipv6UdpPacket>{"flow label", [](auto& p) { ++p.ip.flow_label; }},
                               {"hop limit", [](auto& p) { --p.ip.hop_limit; }}})
        expect_apart(change);
}

TEST(UdpGroIpv4, TakesAnyIdentificationOfWhatIsNeverFragmented) {
    for (const bool dont_fragment : {false, true}) {
        UdpPacket first{};
        first.ip.dont_fragment = dont_fragment;
        auto second = first.followed_by(64);
        second.ip.identification += 7;
        const std::vector in{first.bytes(), second.bytes()};
        EXPECT_EQ(merged(in).size(), dont_fragment ? 1U : 2U);
        auto next = first.followed_by(64);
        EXPECT_EQ(merged(std::vector{first.bytes(), next.bytes()}).size(), 1U);
    }
}

/// Pairs that would be merged, were they not of a kind that never is.
TEST(UdpGroIpv4, LeavesGroupsAndDhcp) {
    const auto left = [](auto change) {
        UdpPacket packet{};
        change(packet);
        return merged(std::vector{packet.bytes(), packet.followed_by(64).bytes()}).size() == 2;
    };
    EXPECT_FALSE(left([](UdpPacket&) {}));
    EXPECT_TRUE(left([](UdpPacket& p) { p.ip.destination = wire::ipv4(239, 1, 2, 3); }));
    EXPECT_TRUE(left([](UdpPacket& p) { p.ip.destination = wire::ipv4(255, 255, 255, 255); }));
    EXPECT_TRUE(left([](UdpPacket& p) { p.udp.destination_port = 68; }));
    EXPECT_TRUE(left([](UdpPacket& p) { p.udp.destination_port = 67; }));
}

TYPED_TEST(UdpGro, LeavesWrongChecksums) {
    for (const std::size_t wrong : {0U, 1U}) {
        auto in = stream<TypeParam>(2, 64);
        in[wrong].back() ^= std::byte{1};
        EXPECT_EQ(merged(in).size(), 2U) << wrong;
        EXPECT_EQ(merged(in, RTE_MBUF_F_RX_L4_CKSUM_GOOD).size(), 1U) << "the device has verified them";
    }
}

TEST(UdpGroIpv4, LeavesPacketsThatEndTooEarly) {
    auto in = stream<UdpPacket>(2, 64);
    in[1].pop_back();
    EXPECT_EQ(merged(in).size(), 2U);
    for (std::size_t size = 0; size < 28; ++size) {
        auto cut = stream<UdpPacket>(2, 64);
        for (auto& packet : cut) packet.resize(size);
        if (size > 0) {
            EXPECT_EQ(merged(cut).size(), 2U) << size;
        }
    }
}

/// Random bursts of four flows: each comes apart into what it was, in its order.
TYPED_TEST(UdpGro, KeepsEveryDatagramAndTheOrderOfFlows) {
    std::mt19937 random(7);
    for (int round = 0; round < 500; ++round) {
        std::vector<TypeParam> flows(4);
        for (std::size_t i = 0; i < flows.size(); ++i) flows[i].udp.source_port = static_cast<std::uint16_t>(5000 + i);
        std::vector<std::vector<ByteVector>> sent(4), received(4);
        std::vector<ByteVector> in;
        for (std::size_t n = random() % 64; n > 0; --n) {
            const auto flow = random() % 4;
            flows[flow] = flows[flow].followed_by(random() % 4 == 0 ? random() % 100 : 64, random() % 100);
            in.push_back(flows[flow].bytes());
            sent[flow].push_back(in.back());
        }
        for (auto& datagram : parted<TypeParam>(merged(in)))
            received[wire::Udp::parse(std::span(datagram).subspan(decltype(TypeParam::ip)::size))->source_port - 5000]
                .push_back(datagram);
        ASSERT_EQ(received, sent) << round;
    }
}

}  // namespace
}  // namespace udp_gro_test
}  // namespace verbline::offload

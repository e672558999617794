// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/offload/gro.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include <rte_mbuf.h>

#include <gtest/gtest.h>

#include "datapath/offload/checksum.h"
#include "datapath/offload/segmentation.h"
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

/// What `coalesce` makes of the packets.
std::vector<test::Packet> coalesced(
    std::span<const ByteVector> in, const std::function<void(rte_mbuf&)>& prepare = [](rte_mbuf&) {}) {
    std::vector<rte_mbuf*> burst;
    for (const auto& bytes : in) {
        burst.push_back(make_packet(bytes).release());
        prepare(*burst.back());
    }
    const auto n = coalesce(burst);
    return {burst.begin(), burst.begin() + n};
}
std::size_t count(std::span<const ByteVector> in) {
    return coalesced(in).size();
}

bool is_large(const test::Packet& packet) {
    return (packet->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
}

/// The packets that go out again, large ones segmented.
std::vector<ByteVector> on_the_wire(std::vector<test::Packet> packets) {
    std::vector<ByteVector> out;
    for (auto& packet : packets) {
        if (!is_large(packet)) {
            out.push_back(bytes_of(packet));
            continue;
        }
        Segmenter segmenter(packet.release(), *packet_pool());
        std::vector<rte_mbuf*> segments(segmenter.remaining());
        EXPECT_EQ(segmenter.next(segments), segments.size());
        for (auto* segment : segments) {
            out.push_back(bytes_of(segment));
            rte_pktmbuf_free(segment);
        }
    }
    return out;
}

/// `n` packets of one flow as a sender makes them from one large write.
std::vector<TcpPacket> stream(std::size_t n, std::size_t size = 1448) {
    std::vector<TcpPacket> packets{{.options = timestamps(5), .payload = pattern(size)}};
    while (packets.size() < n)
        packets.push_back(packets.back().followed_by(size, static_cast<unsigned>(packets.size())));
    return packets;
}

std::vector<ByteVector> bytes(const std::vector<TcpPacket>& packets) {
    std::vector<ByteVector> out;
    for (const auto& packet : packets) out.push_back(packet.bytes());
    return out;
}

TEST(Gro, MakesOneOfAStream) {
    auto packets = stream(20);
    packets.push_back(packets.back().followed_by(100));
    packets.back().tcp.flags |= flag::psh;
    auto out = coalesced(bytes(packets));
    ASSERT_EQ(out.size(), 1u);

    auto& large = *out[0];
    EXPECT_EQ(large.pkt_len, 52u + 20 * 1448 + 100);
    EXPECT_EQ(large.nb_segs, 21);
    EXPECT_EQ(large.tso_segsz, 1448);
    EXPECT_EQ(large.l2_len, 0);
    EXPECT_EQ(large.l3_len, 20);
    EXPECT_EQ(large.l4_len, 32);
    constexpr auto requests = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_TCP_SEG;
    EXPECT_EQ(large.ol_flags & requests, requests);
    rte_mbuf_sanity_check(&large, 1);

    const auto whole = bytes_of(out[0]);
    const auto ip = wire::Ipv4::parse(whole);
    ASSERT_TRUE(ip);
    EXPECT_EQ(ip->total_length, whole.size());
    EXPECT_TRUE(wire::Ipv4::checksum_ok(std::span(whole).first(20)));
    EXPECT_EQ(wire::Tcp::parse(std::span(whole).subspan(20))->flags, flag::ack | flag::psh);
    EXPECT_EQ(on_the_wire(std::move(out)), bytes(packets));
}

TEST(Gro, StopsAtIpsLargestPacket) {
    const auto packets = bytes(stream(60, 1460));
    auto out = coalesced(packets);
    ASSERT_EQ(out.size(), 2u);
    EXPECT_EQ(out[0]->pkt_len, 52u + 44 * 1460);
    EXPECT_EQ(on_the_wire(std::move(out)), packets);
}

/// Two packets that would be merged, were it not for a change to the second.
struct Difference {
    const char* what;
    void (*change)(TcpPacket&);
};

class GroKeepsApart : public testing::TestWithParam<Difference> {};

TEST_P(GroKeepsApart, Packets) {
    auto packets = stream(2);
    ASSERT_EQ(count(bytes(packets)), 1u);
    GetParam().change(packets[1]);
    const auto in = bytes(packets);
    auto out = coalesced(in);
    ASSERT_EQ(out.size(), 2u);
    EXPECT_EQ(bytes_of(out[0]), in[0]);
    EXPECT_EQ(bytes_of(out[1]), in[1]);
    EXPECT_FALSE(is_large(out[0]) || is_large(out[1]));
}

INSTANTIATE_TEST_SUITE_P(
    Differing, GroKeepsApart,
    testing::Values(Difference{"source", [](TcpPacket& p) { p.ip.source = wire::ipv4(10, 1, 0, 3); }},
                    Difference{"destination", [](TcpPacket& p) { p.ip.destination = wire::ipv4(10, 2, 0, 3); }},
                    Difference{"source_port", [](TcpPacket& p) { ++p.tcp.source_port; }},
                    Difference{"destination_port", [](TcpPacket& p) { ++p.tcp.destination_port; }},
                    Difference{"gap", [](TcpPacket& p) { ++p.tcp.sequence; }},
                    Difference{"overlap", [](TcpPacket& p) { --p.tcp.sequence; }},
                    Difference{"acknowledgement", [](TcpPacket& p) { ++p.tcp.acknowledgement; }},
                    Difference{"window", [](TcpPacket& p) { ++p.tcp.window; }},
                    Difference{"urgent", [](TcpPacket& p) { ++p.tcp.urgent; }},
                    Difference{"reserved", [](TcpPacket& p) { ++p.tcp.reserved; }},
                    Difference{"timestamp", [](TcpPacket& p) { p.options = timestamps(6); }},
                    Difference{"fewer_options", [](TcpPacket& p) { p.options.clear(); }},
                    Difference{"ttl", [](TcpPacket& p) { --p.ip.time_to_live; }},
                    Difference{"dscp", [](TcpPacket& p) { ++p.ip.dscp; }},
                    Difference{"ecn", [](TcpPacket& p) { p.ip.ecn = wire::Ecn::congestion_experienced; }},
                    Difference{"dont_fragment", [](TcpPacket& p) { p.ip.dont_fragment = false; }},
                    Difference{"identification_gap", [](TcpPacket& p) { ++p.ip.identification; }},
                    Difference{"larger", [](TcpPacket& p) { p.payload = pattern(1449); }},
                    Difference{"no_payload", [](TcpPacket& p) { p.payload.clear(); }},
                    Difference{"fin", [](TcpPacket& p) { p.tcp.flags |= flag::fin; }},
                    Difference{"syn", [](TcpPacket& p) { p.tcp.flags |= flag::syn; }},
                    Difference{"rst", [](TcpPacket& p) { p.tcp.flags |= flag::rst; }},
                    Difference{"urg", [](TcpPacket& p) { p.tcp.flags |= flag::urg; }},
                    Difference{"ece", [](TcpPacket& p) { p.tcp.flags |= flag::ece; }},
                    Difference{"cwr", [](TcpPacket& p) { p.tcp.flags |= flag::cwr; }},
                    Difference{"no_ack", [](TcpPacket& p) { p.tcp.flags = 0; }},
                    Difference{"fragment", [](TcpPacket& p) { p.ip.more_fragments = true; }},
                    Difference{"later_fragment", [](TcpPacket& p) { p.ip.fragment_offset = 1; }}),
    [](const auto& difference) { return difference.param.what; });

TEST(Gro, MergesWhatDoesNotCountItsIdentificationsOnlyWhenItMayNotBeFragmented) {
    auto packets = stream(3);
    for (auto& packet : packets) packet.ip.identification = 0;
    EXPECT_EQ(count(bytes(packets)), 1u);
    packets[2].ip.identification = 1;
    EXPECT_EQ(count(bytes(packets)), 2u) << "the flow has changed its ways";
    for (auto& packet : packets) packet.ip.identification = 0, packet.ip.dont_fragment = false;
    EXPECT_EQ(count(bytes(packets)), 3u);
}

TEST(Gro, EndsAPacketAtPushAndAtAShorterSegment) {
    auto pushed = stream(4);
    pushed[1].tcp.flags |= flag::psh;
    EXPECT_EQ(count(bytes(pushed)), 2u);

    auto shorter = stream(2);
    shorter.push_back(shorter.back().followed_by(1447));
    shorter.push_back(shorter.back().followed_by(1447));
    shorter.push_back(shorter.back().followed_by(1447));
    auto out = coalesced(bytes(shorter));
    ASSERT_EQ(out.size(), 2u);
    EXPECT_EQ(out[0]->pkt_len, 52u + 2 * 1448 + 1447);
}

TEST(Gro, NeverMovesDataPastAnotherPacketOfItsFlow) {
    for (const auto between : {0u, 40u}) {  // a pure acknowledgement; one that cannot be told from a fragment
        auto packets = stream(4);
        TcpPacket other = packets[1].followed_by(0);
        other.ip.more_fragments = between != 0;
        auto in = bytes({packets[0], packets[1], other, packets[2], packets[3]});
        const auto out = coalesced(in);
        ASSERT_EQ(out.size(), 3u);
        EXPECT_EQ(bytes_of(out[1]), in[2]);
    }
}

TEST(Gro, LeavesDamagedPacketsAlone) {
    const auto good = bytes(stream(4));
    for (std::size_t damaged = 0; damaged < good.size(); ++damaged) {
        for (const std::size_t at : {std::size_t{10}, std::size_t{36}, good[0].size() - 1}) {
            auto in = good;
            in[damaged][at] ^= std::byte{1};
            auto out = coalesced(in);
            EXPECT_GT(out.size(), 1u);
            EXPECT_EQ(on_the_wire(std::move(out)), in) << "packet " << damaged << ", byte " << at;
        }
    }
}

TEST(Gro, BelievesTheDeviceThatVerified) {
    auto in = bytes(stream(2));
    for (auto& packet : in) packet[37] ^= std::byte{1};
    EXPECT_EQ(coalesced(in).size(), 2u);
    EXPECT_EQ(coalesced(in, [](rte_mbuf& p) { p.ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD; }).size(), 1u);
}

TEST(Gro, LeavesPacketsWithUnfinishedWorkAlone) {
    EXPECT_EQ(coalesced(bytes(stream(3)), [](rte_mbuf& p) { p.ol_flags |= RTE_MBUF_F_TX_TCP_CKSUM; }).size(), 3u);
}

TEST(Gro, LeavesAPacketWithPaddingAlone) {
    auto in = bytes(stream(3, 4));
    in[1].resize(60);
    EXPECT_EQ(coalesced(in).size(), 3u);
}

TEST(Gro, MergesSegmentsThatAreChainsThemselves) {
    const auto in = bytes(stream(3));
    std::vector<rte_mbuf*> burst;
    for (const auto& packet : in) burst.push_back(make_packet(packet, 99).release());
    ASSERT_EQ(coalesce(burst), 1);
    rte_mbuf_sanity_check(burst[0], 1);
    std::vector<test::Packet> out;
    out.emplace_back(burst[0]);
    EXPECT_EQ(on_the_wire(std::move(out)), in);
}

/// A network: several flows, each a sender that now and then does something odd, and what the path does to packets.
struct World {
    explicit World(unsigned seed) : random(seed) {
        for (unsigned i = 0; i < 1 + random() % 12; ++i) {
            TcpPacket flow{.payload = pattern(1 + random() % 2000, i)};
            flow.ip.source = wire::ipv4(10, 1, 0, i % 5);
            flow.tcp.source_port = static_cast<std::uint16_t>(i);
            flow.tcp.sequence = 0u - static_cast<std::uint32_t>(random() % 20'000);
            flow.ip.identification = static_cast<std::uint16_t>(random());
            if (chance(50)) flow.options = timestamps(i);
            flows.push_back(flow);
        }
    }
    bool chance(unsigned percent) { return random() % 100 < percent; }

    void oddity(TcpPacket& p) {
        switch (random() % 10) {
            case 0: p.tcp.flags = static_cast<std::uint8_t>(random()); break;
            case 1: p.payload.resize(random() % 2000); break;
            case 2: p.tcp.acknowledgement += random() % 2; break;
            case 3: p.options = timestamps(random() % 3); break;
            case 4: p.ip.identification = static_cast<std::uint16_t>(p.ip.identification + random() % 3); break;
            case 5: p.tcp.sequence += random() % 3; break;
            case 6: p.ip.more_fragments = chance(50); break;
            case 7: p.tcp.window = static_cast<std::uint16_t>(p.tcp.window + random() % 2); break;
            case 8: p.ip.dont_fragment = chance(50); break;
            default: p.tcp.flags |= flag::psh; break;
        }
    }
    ByteVector send() {
        auto& flow = flows[random() % flows.size()];
        flow = flow.followed_by(flow.payload.size(), random());
        auto sent = flow;
        if (chance(8)) oddity(chance(50) ? sent : flow);
        auto packet = sent.bytes();
        if (chance(3)) packet[random() % packet.size()] ^= static_cast<std::byte>(1 + random() % 255);
        if (chance(2)) packet.resize(1 + random() % packet.size());
        if (chance(2)) packet.resize(packet.size() + random() % 20, std::byte{7});
        return packet;
    }

    std::mt19937 random;
    std::vector<TcpPacket> flows;
};

/// By what a receiver must not see reordered: the addresses and ports, or all that cannot be told.
auto by_flow(const std::vector<ByteVector>& packets) {
    std::map<std::array<std::byte, 12>, std::vector<ByteVector>> flows;
    for (const auto& packet : packets) {
        std::array<std::byte, 12> key{};
        if (packet.size() >= 24) std::ranges::copy(std::span(packet).subspan<12, 12>(), key.begin());
        flows[key].push_back(packet);
        // An identification that means nothing need not survive (RFC 6864, 4.1).
        auto& header = flows[key].back();
        const bool atomic = header.size() >= 20 && (header[6] & std::byte{0x60}) == std::byte{0x40};
        if (atomic)
            for (const auto at : {4, 5, 10, 11}) header[static_cast<std::size_t>(at)] = std::byte{0};
    }
    return flows;
}

class GroSim : public testing::TestWithParam<unsigned> {};

TEST_P(GroSim, WhatWasMergedComesApartAsItWas) {
    World world(GetParam());
    for (int burst = 0; burst < 10; ++burst) {
        std::vector<ByteVector> in;
        for (auto n = 1 + world.random() % 64; n > 0; --n) {
            // Sequences of one flow, as trains arrive.
            in.push_back(world.send());
            if (world.chance(10)) std::swap(in[world.random() % in.size()], in.back());
        }
        auto out = coalesced(in);
        for (const auto& packet : out) rte_mbuf_sanity_check(packet.get(), 1);
        ASSERT_TRUE(by_flow(on_the_wire(std::move(out))) == by_flow(in)) << "burst " << burst;
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, GroSim, testing::Range(0u, 300u));

TEST(Gro, SurvivesGarbage) {
    std::mt19937 random(9);
    for (int round = 0; round < 300; ++round) {
        std::vector<ByteVector> in(random() % 64);
        for (auto& packet : in) {
            packet.resize(1 + random() % 100);
            std::ranges::generate(packet, [&] { return static_cast<std::byte>(random()); });
            packet[0] = static_cast<std::byte>(random() % 4 ? 0x45 : 0x46);
            if (packet.size() > 9) packet[9] = std::byte{6};
            if (packet.size() > 7) packet[6] = packet[7] = std::byte{0};
        }
        auto out = coalesced(in);
        ASSERT_TRUE(by_flow(on_the_wire(std::move(out))) == by_flow(in)) << "round " << round;
    }
}

}  // namespace
}  // namespace verbline::offload

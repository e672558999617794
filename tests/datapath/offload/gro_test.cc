// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/offload/gro.h"

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <vector>

#include <rte_mbuf.h>

#include <gtest/gtest.h>

#include "datapath/offload/checksum.h"
#include "datapath/offload/segmentation.h"
#include "tests/datapath/offload/bursts.h"
#include "tests/datapath/offload/on_the_wire.h"
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

/// As a sender makes them from one large write.
std::vector<TcpPacket> stream(std::size_t n, std::size_t size = 1448) {
    return stream_of<TcpPacket>(n, size);
}

TEST(Gro, MakesOneOfAStream) {
    expect_one_of_a_stream<TcpPacket>(RTE_MBUF_F_TX_IPV4);
}

TEST(Gro, GivesALargePacketItsChecksum) {
    const auto whole = bytes_of(coalesced(bytes(stream(3)))[0]);
    EXPECT_TRUE(wire::Ipv4::checksum_ok(std::span(whole).first(20)));
}

TEST(Gro, StopsAtIpsLargestPacket) {
    const auto packets = bytes(stream(60, 1460));
    auto out = coalesced(packets);
    ASSERT_EQ(out.size(), 2u);
    EXPECT_EQ(out[0]->pkt_len, 52u + 44 * 1460);
    EXPECT_EQ(on_the_wire(std::move(out)), packets);
}

class GroKeepsApart : public testing::TestWithParam<Difference<TcpPacket>> {};

TEST_P(GroKeepsApart, Packets) {
    expect_apart(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Differing, GroKeepsApart,
                         testing::ValuesIn(differences<TcpPacket>(
                             {{"source", [](TcpPacket& p) { p.ip.source = wire::ipv4(10, 1, 0, 3); }},
                              {"destination", [](TcpPacket& p) { p.ip.destination = wire::ipv4(10, 2, 0, 3); }},
                              {"ttl", [](TcpPacket& p) { --p.ip.time_to_live; }},
                              {"dont_fragment", [](TcpPacket& p) { p.ip.dont_fragment = false; }},
                              {"identification_gap", [](TcpPacket& p) { ++p.ip.identification; }},
                              {"fragment", [](TcpPacket& p) { p.ip.more_fragments = true; }},
                              {"later_fragment", [](TcpPacket& p) { p.ip.fragment_offset = 1; }}})),
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
        auto in = bytes(std::vector{packets[0], packets[1], other, packets[2], packets[3]});
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

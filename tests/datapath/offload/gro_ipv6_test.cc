// SPDX-License-Identifier: BSD-3-Clause
// Coalescing of TCP over IPv6, also among IPv4, and segmentation back into what came.
#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <vector>

#include <rte_mbuf.h>

#include <gtest/gtest.h>

#include "datapath/offload/gro.h"
#include "tests/datapath/offload/bursts.h"
#include "tests/datapath/offload/on_the_wire.h"
#include "tests/datapath/offload/tcp_packet.h"
#include "tests/support/ipv6.h"
#include "tests/support/packet.h"

namespace verbline::offload::over_ipv6 {
namespace {

using test::bytes_of;
using test::ByteVector;
using test::pattern;

std::vector<Ipv6TcpPacket> stream(std::size_t n, std::size_t size = 1428) {
    return stream_of<Ipv6TcpPacket>(n, size);
}

TEST(GroIpv6, MakesOneOfAStream) {
    expect_one_of_a_stream<Ipv6TcpPacket>(RTE_MBUF_F_TX_IPV6);
}

TEST(GroIpv6, StopsAt64Kilobytes) {
    const auto packets = bytes(stream(60, 1440));
    auto out = coalesced(packets);
    ASSERT_EQ(out.size(), 2u);
    EXPECT_EQ(out[0]->pkt_len, 72u + 45 * 1440);
    EXPECT_EQ(on_the_wire(std::move(out)), packets);
}

class GroIpv6KeepsApart : public testing::TestWithParam<Difference<Ipv6TcpPacket>> {};

TEST_P(GroIpv6KeepsApart, Packets) {
    expect_apart(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Differing, GroIpv6KeepsApart,
                         testing::ValuesIn(differences<Ipv6TcpPacket>(
                             {{"source", [](Ipv6TcpPacket& p) { p.ip.source = test::ipv6("fd01::3"); }},
                              {"source_prefix", [](Ipv6TcpPacket& p) { p.ip.source = test::ipv6("fd03::2"); }},
                              {"destination", [](Ipv6TcpPacket& p) { p.ip.destination = test::ipv6("fd02::3"); }},
                              {"flow_label", [](Ipv6TcpPacket& p) { ++p.ip.flow_label; }},
                              {"hop_limit", [](Ipv6TcpPacket& p) { --p.ip.hop_limit; }}})),
                         [](const auto& difference) { return difference.param.what; });

/// What is behind an extension header may be of the same flow.
TEST(GroIpv6, NeverMovesDataPastExtensionHeaders) {
    using enum wire::IpProtocol;
    for (const auto extension : {hop_by_hop, routing, fragment, destination_options}) {
        const auto packets = stream(4);
        auto other = packets[1].followed_by(100);
        other.ip.next_header = extension;
        const auto in =
            std::vector{packets[0].bytes(), packets[1].bytes(), other.bytes(), packets[2].bytes(), packets[3].bytes()};
        const auto out = coalesced(in);
        ASSERT_EQ(out.size(), 3u);
        EXPECT_EQ(bytes_of(out[1]), in[2]);
    }
}

TEST(GroIpv6, IsNotStoppedByOtherProtocols) {
    const auto packets = stream(4);
    auto other = packets[1].followed_by(100);
    other.ip.next_header = wire::IpProtocol::icmpv6;
    EXPECT_EQ(count(std::vector{packets[0].bytes(), packets[1].bytes(), other.bytes(), packets[2].bytes(),
                                packets[3].bytes()}),
              2u);
}

TEST(GroIpv6, LeavesDamagedPacketsAlone) {
    const auto good = bytes(stream(4));
    for (std::size_t damaged = 0; damaged < good.size(); ++damaged) {
        for (const std::size_t at : {std::size_t{8}, std::size_t{56}, good[0].size() - 1}) {
            auto in = good;
            in[damaged][at] ^= std::byte{1};
            auto out = coalesced(in);
            EXPECT_GT(out.size(), 1u);
            EXPECT_EQ(on_the_wire(std::move(out)), in) << "packet " << damaged << ", byte " << at;
        }
    }
}

TEST(GroIpv6, LeavesPacketsOfAnotherLengthThanTheySayAlone) {
    auto padded = bytes(stream(3, 4));
    padded[1].resize(padded[1].size() + 3);
    EXPECT_EQ(count(padded), 3u);
    auto cut = bytes(stream(3));
    cut[1].pop_back();
    EXPECT_EQ(count(cut), 3u);
}

/// IPv4 addresses with zeros behind them are no IPv6 addresses.
TEST(GroIpv6, TellsFlowsOfBothVersionsApart) {
    auto of_ipv4 = stream_of<TcpPacket>(2, 1000);
    auto of_ipv6 = stream(2, 1000);
    for (auto& packet : of_ipv6) {
        packet.ip.source = packet.ip.destination = {};
        std::ranges::copy(std::array{10, 1, 0, 2, 10, 2, 0, 2}, reinterpret_cast<std::uint8_t*>(&packet.ip.source));
    }
    const std::vector in{of_ipv4[0].bytes(), of_ipv6[0].bytes(), of_ipv4[1].bytes(), of_ipv6[1].bytes()};
    auto out = coalesced(in);
    ASSERT_EQ(out.size(), 2u);
    const auto again = on_the_wire(std::move(out));
    EXPECT_EQ(again, (std::vector{in[0], in[2], in[1], in[3]}));
}

/// A network of flows of both versions, in which senders and the path do something odd now and then.
template <class Packet>
struct Sender {
    std::mt19937& random;
    Packet flow;

    ByteVector send() {
        const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
        flow = flow.followed_by(flow.payload.size(), random());
        auto sent = flow;
        auto& odd = chance(50) ? sent : flow;
        if (chance(3)) odd.tcp.flags = static_cast<std::uint8_t>(random());
        if (chance(3)) odd.payload.resize(random() % 2000);
        if (chance(2)) odd.options = timestamps(random() % 3);
        if (chance(2)) ++odd.tcp.window;
        auto packet = sent.bytes();
        if (chance(3)) packet[random() % packet.size()] ^= static_cast<std::byte>(1 + random() % 255);
        if (chance(2)) packet.resize(1 + random() % packet.size());
        return packet;
    }
};

/// By what a receiver must not see reordered; all of what cannot be told is one.
auto by_flow(const std::vector<ByteVector>& packets) {
    std::map<ByteVector, std::vector<ByteVector>> flows;
    for (const auto& packet : packets) {
        const bool ipv6 = wire::load8(packet, 0) >> 4 == 6;
        const std::size_t from = ipv6 ? 8 : 12, size = ipv6 ? 36 : 12;
        const auto key =
            packet.size() < from + size ? std::span<const std::byte>() : std::span(packet).subspan(from, size);
        flows[{key.begin(), key.end()}].push_back(packet);
    }
    return flows;
}

class GroOfBoth : public testing::TestWithParam<unsigned> {};

TEST_P(GroOfBoth, WhatWasMergedComesApartAsItWas) {
    std::mt19937 random(GetParam());
    Sender<TcpPacket> of_ipv4{random, {.payload = pattern(1 + random() % 2000)}};
    Sender<Ipv6TcpPacket> of_ipv6{random, {.payload = pattern(1 + random() % 2000)}};
    std::size_t came = 0, left = 0;
    for (int burst = 0; burst < 10; ++burst) {
        std::vector<ByteVector> in;
        for (auto n = 1 + random() % 64; n > 0; --n) in.push_back(random() % 3 == 0 ? of_ipv4.send() : of_ipv6.send());
        auto out = coalesced(in);
        came += in.size(), left += out.size();
        for (const auto& packet : out) rte_mbuf_sanity_check(packet.get(), 1);
        ASSERT_TRUE(by_flow(on_the_wire(std::move(out))) == by_flow(in)) << "burst " << burst;
    }
    EXPECT_LT(left, came);
}

INSTANTIATE_TEST_SUITE_P(Seeds, GroOfBoth, testing::Range(0u, 100u));

}  // namespace
}  // namespace verbline::offload::over_ipv6

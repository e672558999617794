// SPDX-License-Identifier: BSD-3-Clause
// Coalescing inside tunnels, and segmentation back into what came.
#include <algorithm>
#include <functional>
#include <vector>

#include <rte_mbuf.h>

#include <gtest/gtest.h>

#include "datapath/offload/gro.h"
#include "datapath/offload/segmentation.h"
#include "tests/datapath/offload/bursts.h"
#include "tests/datapath/offload/on_the_wire.h"
#include "tests/datapath/offload/tcp_packet.h"
#include "tests/datapath/offload/tunnel_packet.h"

namespace verbline::offload {
namespace {

using test::ByteVector, test::bytes_of, test::make_packet, test::packet_pool, test::pattern;

template <class Packet>
struct Tunnelled {
    TunnelPacket tunnel;
    Packet tcp;
    ByteVector bytes() const { return tunnel.around(tcp.bytes()); }
};

/// Packets of one flow, as a sender makes them from one large write, the last of which is shorter.
template <class Packet = TcpPacket>
std::vector<Tunnelled<Packet>> stream(const TunnelPacket& tunnel, std::size_t n = 5) {
    std::vector<Tunnelled<Packet>> packets{{tunnel, {.options = timestamps(5), .payload = pattern(1400)}}};
    while (packets.size() < n) {
        auto next = packets.back();
        next.tcp = next.tcp.followed_by(packets.size() + 1 < n ? 1400 : 333, static_cast<unsigned>(packets.size()));
        ++next.tunnel.ip.identification;
        packets.push_back(next);
    }
    return packets;
}

std::vector<test::Packet> coalesced_in_tunnels(std::span<const ByteVector> in, std::uint64_t kinds = all_tunnels) {
    std::vector<rte_mbuf*> burst;
    for (const auto& packet : in) burst.push_back(make_packet(packet).release());
    const auto n = coalesce(burst, kinds);
    return {burst.begin(), burst.begin() + n};
}

class GroInTunnel : public testing::TestWithParam<TunnelPacket> {};
INSTANTIATE_TEST_SUITE_P(Kinds, GroInTunnel, testing::ValuesIn(tunnels_over_either()),
                         [](const auto& tunnel) { return tunnel.param.name; });

TEST_P(GroInTunnel, MakesOneOfAStreamThatComesApartAsItWas) {
    const auto in = bytes(stream(GetParam()));
    auto out = coalesced_in_tunnels(in);
    ASSERT_EQ(out.size(), 1u);
    auto& large = *out[0];
    rte_mbuf_sanity_check(&large, 1);
    EXPECT_EQ(headers_of(large), in[0].size() - 1400);
    EXPECT_EQ(large.outer_l3_len, GetParam().ip_size());
    EXPECT_EQ(large.tso_segsz, 1400);
    const auto whole = bytes_of(out[0]);
    if (GetParam().over_ipv6) {
        EXPECT_EQ(wire::load16(whole, 4) + 40u, whole.size());
    } else {
        EXPECT_EQ(wire::load16(whole, 2), whole.size());
        EXPECT_EQ(test::naive_checksum(std::span(whole).first(20)), 0) << "a router checks it";
    }
    EXPECT_EQ((large.ol_flags & RTE_MBUF_F_TX_OUTER_UDP_CKSUM) != 0, GetParam().summed);
    EXPECT_EQ(on_the_wire(std::move(out)), in);
}

class GroOfIpv6InTunnel : public testing::TestWithParam<TunnelPacket> {};
INSTANTIATE_TEST_SUITE_P(Kinds, GroOfIpv6InTunnel, testing::ValuesIn(tunnels_over_either(wire::ether_type::ipv6)),
                         [](const auto& tunnel) { return tunnel.param.name; });

TEST_P(GroOfIpv6InTunnel, MakesOneOfAStreamThatComesApartAsItWas) {
    const auto in = bytes(stream<Ipv6TcpPacket>(GetParam()));
    auto out = coalesced_in_tunnels(in);
    ASSERT_EQ(out.size(), 1u);
    const auto requests = RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_TCP_SEG |
                          (GetParam().over_ipv6 ? RTE_MBUF_F_TX_OUTER_IPV6 : RTE_MBUF_F_TX_OUTER_IPV4);
    EXPECT_EQ(out[0]->ol_flags & (requests | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_OUTER_IPV4), requests);
    EXPECT_EQ(on_the_wire(std::move(out)), in);
}

TEST_P(GroInTunnel, LeavesDamagedPacketsAlone) {
    const auto good = bytes(stream(GetParam()));
    const auto inner = good[0].size() - 1400 - 52;
    std::vector<std::size_t> places{8, 10, inner + 10, inner + 36, good[0].size() - 1};
    if (GetParam().summed) places.push_back(GetParam().ip_size() + 6);
    for (const auto at : places) {
        auto in = good;
        in[1][at] ^= std::byte{1};
        auto out = coalesced_in_tunnels(in);
        EXPECT_GT(out.size(), 1u);
        EXPECT_EQ(on_the_wire(std::move(out)), in) << "byte " << at;
    }
}

TEST_P(GroInTunnel, MergesOnlyWhatADeviceCuts) {
    const auto in = bytes(stream(GetParam()));
    EXPECT_EQ(coalesced_in_tunnels(in, 0).size(), in.size());
    const auto others =
        GetParam().kind == TunnelKind::gre ? RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO : RTE_ETH_TX_OFFLOAD_GRE_TNL_TSO;
    EXPECT_EQ(coalesced_in_tunnels(in, others).size(), in.size());
}

TEST_P(GroInTunnel, NeverMovesDataPastAFragment) {
    auto packets = stream(GetParam(), 3);
    auto fragment = packets[1];
    fragment.tunnel.ip.more_fragments = true;
    const auto in = bytes(std::vector{packets[0], fragment, packets[1], packets[2]});
    EXPECT_EQ(on_the_wire(coalesced_in_tunnels(in)), in);
    EXPECT_EQ(coalesced_in_tunnels(in).size(), 3u) << "those behind it are merged";
}

/// Two packets that would be merged, were it not for a change to the second's tunnel.
TEST_P(GroInTunnel, KeepsTunnelsApart) {
    const std::vector<std::function<void(TunnelPacket&)>> changes{
        [](auto& t) { t.ip.source = wire::ipv4(10, 9, 0, 3); },
        [](auto& t) { t.ip.destination = wire::ipv4(10, 9, 0, 3); },
        [](auto& t) { --t.ip.time_to_live; },
        [](auto& t) { ++t.ip.dscp; },
        [](auto& t) { t.ip.ecn = wire::Ecn::congestion_experienced; },
        [](auto& t) { t.ip.dont_fragment = true; },
        [](auto& t) { ++t.ip.identification; },
        [](auto& t) { ++t.udp.source_port; },
        [](auto& t) { t.summed = !t.summed; },
        [](auto& t) { t.bridged = !t.bridged; }};
    for (std::size_t i = 0; i < changes.size(); ++i) {
        auto packets = stream(GetParam(), 2);
        changes[i](packets[1].tunnel);
        const auto in = bytes(packets);
        if (in[1] == bytes(stream(GetParam(), 2))[1]) continue;  // this kind has no such field
        EXPECT_EQ(coalesced_in_tunnels(in).size(), 2u) << "change " << i;
    }
}

TEST(GroInTunnel, LeavesNumberedAndSummedGreAlone) {
    for (const bool numbered : {true, false}) {
        auto header =
            emitted(wire::Gre{.has_checksum = !numbered, .has_sequence = numbered, .protocol = wire::ether_type::ipv4});
        header.resize(8);
        EXPECT_EQ(coalesced_in_tunnels(bytes(stream({.kind = TunnelKind::gre, .headers = header}))).size(), 5u);
    }
}

TEST(GroInTunnel, MergesBesidePlainPackets) {
    auto in = bytes(stream(tunnels()[4]));
    const TcpPacket plain{.payload = pattern(1400)};
    in.insert(in.begin() + 1, plain.bytes());
    in.push_back(plain.followed_by(1400).bytes());
    EXPECT_EQ(coalesced_in_tunnels(in).size(), 2u);
}

TEST(Segmenter, RefusesATunnelThatContradictsThePacket) {
    const auto refused = [](auto change) {
        auto out = coalesced_in_tunnels(bytes(stream(tunnels()[4])));
        change(*out[0]);
        return !Segmenter(out[0].release(), *packet_pool()).valid();
    };
    EXPECT_FALSE(refused([](rte_mbuf&) {}));
    EXPECT_TRUE(refused([](rte_mbuf& m) { m.outer_l3_len = 0; }));
    EXPECT_TRUE(refused([](rte_mbuf& m) { m.outer_l3_len = 16; }));
    EXPECT_TRUE(refused([](rte_mbuf& m) { m.l2_len = 7; })) << "no room for UDP";
    EXPECT_TRUE(refused([](rte_mbuf& m) { m.l3_len = 511; }));
    EXPECT_TRUE(refused([](rte_mbuf& m) { m.tso_segsz = 0; }));
}

TEST(LimitSegments, CountsATunnelsHeaders) {
    auto out = coalesced_in_tunnels(bytes(stream(tunnels()[4])));
    limit_segments(*out[0], 1000);
    EXPECT_EQ(out[0]->tso_segsz, 1000 - 50 - 52);
    for (const auto& segment : on_the_wire(std::move(out))) EXPECT_LE(segment.size(), 1000u);
}

}  // namespace
}  // namespace verbline::offload

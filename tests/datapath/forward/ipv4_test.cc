// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/forward/ipv4.h"

#include <algorithm>
#include <array>
#include <random>

#include <rte_mbuf.h>

#include <gtest/gtest.h>

#include "datapath/wire/ipv4.h"
#include "tests/support/packet.h"

namespace verbline::forward {
namespace {

using test::bytes_of;
using test::ByteVector;
using test::make_packet;
using wire::ipv4;
using enum Ipv4Discard;

constexpr wire::Ipv4 good{.total_length = 120,
                          .protocol = wire::IpProtocol::udp,
                          .source = ipv4(10, 1, 0, 2),
                          .destination = ipv4(10, 2, 0, 2)};

ByteVector packet(const wire::Ipv4& header, std::size_t size = 120) {
    std::array<std::byte, 20> first;
    header.with_checksum().emit(first);
    auto bytes = test::pattern(size);
    std::ranges::copy(std::span(first).first(std::min(size, first.size())), bytes.begin());
    return bytes;
}
std::optional<Ipv4Discard> check(const ByteVector& bytes) {
    return check_ipv4(*make_packet(bytes));
}
std::optional<Ipv4Discard> check_from(wire::Ipv4Address source, wire::Ipv4Address destination = good.destination) {
    auto header = good;
    header.source = source, header.destination = destination;
    return check(packet(header));
}

TEST(CheckIpv4, PassesWhatIsInOrder) {
    EXPECT_EQ(check(packet(good)), std::nullopt);
}

TEST(CheckIpv4, RefusesEveryTruncation) {
    const auto whole = packet(good);
    for (std::size_t size = 1; size < whole.size(); ++size) {
        const auto reason = check(packet(good, size));
        EXPECT_EQ(reason, size < 20 ? rx_dropped_ip_header : rx_dropped_ip_truncated) << size;
    }
}

TEST(CheckIpv4, RefusesEveryFlippedBitOfTheHeader) {
    for (std::size_t bit = 0; bit < 20 * 8; ++bit) {
        auto bytes = packet(good);
        bytes[bit / 8] ^= std::byte{1} << bit % 8;
        EXPECT_NE(check(bytes), std::nullopt) << "bit " << bit;
    }
}

TEST(CheckIpv4, RefusesLengthsThatCannotBe) {
    auto header = good;
    header.header_words = 4;
    EXPECT_EQ(check(packet(header)), rx_dropped_ip_header);
    header = good, header.total_length = 19;
    EXPECT_EQ(check(packet(header)), rx_dropped_ip_header);
    header = good, header.header_words = 15, header.total_length = 40;
    EXPECT_EQ(check(packet(header, 40)), rx_dropped_ip_header) << "header longer than the packet";
    header = good, header.header_words = 15;
    EXPECT_EQ(check_ipv4(*make_packet(packet(header), 50)), rx_dropped_ip_header) << "header in two mbufs";
    auto version = packet(good);
    version[0] = std::byte{0x65};
    EXPECT_EQ(check(version), rx_dropped_ip_version);
}

TEST(CheckIpv4, RefusesMartians) {
    EXPECT_EQ(check_from(ipv4(0, 0, 0, 0)), rx_dropped_martian_source);
    EXPECT_EQ(check_from(ipv4(0, 1, 2, 3)), rx_dropped_martian_source);
    EXPECT_EQ(check_from(ipv4(127, 0, 0, 1)), rx_dropped_martian_source);
    EXPECT_EQ(check_from(ipv4(224, 0, 0, 1)), rx_dropped_martian_source);
    EXPECT_EQ(check_from(ipv4(255, 255, 255, 255)), rx_dropped_martian_source);
    EXPECT_EQ(check_from(good.source, ipv4(127, 0, 0, 1)), rx_dropped_martian_destination);
    EXPECT_EQ(check_from(good.source, ipv4(0, 0, 0, 0)), rx_dropped_martian_destination);
}

TEST(CheckIpv4, LetsAHostWithoutAddressSpeakToItsNetwork) {
    EXPECT_EQ(check_from({}, ipv4(255, 255, 255, 255)), std::nullopt) << "DHCP";
    EXPECT_EQ(check_from({}, ipv4(224, 0, 0, 22)), std::nullopt) << "IGMP";
    EXPECT_EQ(check_from(ipv4(0, 0, 0, 1), ipv4(255, 255, 255, 255)), rx_dropped_martian_source);
}

TEST(CheckIpv4, CutsOffPaddingWhereverItBegins) {
    const auto whole = packet(good);
    for (const std::size_t padding : {1, 30, 61, 200}) {
        ByteVector padded(whole.size() + padding);
        std::ranges::copy(whole, padded.begin());
        for (const std::size_t segment : {50, 60, 120, 2000}) {
            const auto p = make_packet(padded, segment);
            ASSERT_EQ(check_ipv4(*p), std::nullopt);
            EXPECT_EQ(bytes_of(p), whole);
            rte_mbuf_sanity_check(p.get(), 1);
        }
    }
}

TEST(CheckIpv4, BelievesTheDeviceThatVerified) {
    auto bytes = packet(good);
    bytes[10] ^= std::byte{1};
    const auto p = make_packet(bytes);
    EXPECT_EQ(check_ipv4(*p), rx_dropped_ip_checksum);
    p->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD;
    EXPECT_EQ(check_ipv4(*p), std::nullopt);
    p->ol_flags = RTE_MBUF_F_TX_IP_CKSUM;
    EXPECT_EQ(check_ipv4(*p), std::nullopt) << "undefined while requested";
}

/// Whatever is plain passes as it is; what is not may still be in order.
TEST(IsPlainIpv4, AgreesWithTheWholeCheck) {
    std::mt19937 random(4);
    const std::array octets{0u, 1u, 10u, 126u, 127u, 128u, 223u, 224u, 239u, 240u, 254u, 255u};
    const auto address = [&] {
        return ipv4(octets[random() % octets.size()], random() % 2 * 255, random() % 2 * 255, random() % 2 * 255);
    };
    unsigned plain = 0;
    for (int i = 0; i < 20'000; ++i) {
        auto header = good;
        header.source = address(), header.destination = address();
        header.total_length = static_cast<std::uint16_t>(118 + random() % 4);
        header.identification = static_cast<std::uint16_t>(random());
        auto bytes = packet(header);
        if (random() % 4 == 0) bytes[random() % 20] ^= std::byte{1} << random() % 8;
        const auto p = make_packet(bytes, random() % 8 == 0 ? 19 : 2000);
        if (random() % 8 == 0) p->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD;
        if (!is_plain_ipv4(*p)) continue;
        ++plain;
        ASSERT_EQ(check_ipv4(*p), std::nullopt);
        ASSERT_EQ(bytes_of(p), bytes) << "trimmed";
    }
    EXPECT_GT(plain, 500u);
}

TEST(IsPlainIpv4, IsWhatMostPacketsAre) {
    EXPECT_TRUE(is_plain_ipv4(*make_packet(packet(good))));
    for (std::size_t bit = 0; bit < 20 * 8; ++bit) {
        auto bytes = packet(good);
        bytes[bit / 8] ^= std::byte{1} << bit % 8;
        EXPECT_FALSE(is_plain_ipv4(*make_packet(bytes))) << "bit " << bit;
    }
}

TEST(CheckIpv4, BelievesNoDeviceThatMeansTheHeaderInsideATunnel) {
    auto bytes = packet(good);
    bytes[10] ^= std::byte{1};
    const auto p = make_packet(bytes);
    p->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD;
    p->packet_type = RTE_PTYPE_L3_IPV4 | RTE_PTYPE_TUNNEL_VXLAN;
    EXPECT_EQ(check_ipv4(*p), rx_dropped_ip_checksum);
    p->packet_type = 0;
    p->ol_flags |= RTE_MBUF_F_RX_OUTER_IP_CKSUM_BAD;
    EXPECT_EQ(check_ipv4(*p), rx_dropped_ip_checksum);
}

TEST(DecrementTtl, KeepsTheChecksumRight) {
    for (unsigned ttl = 1; ttl < 256; ++ttl) {
        for (unsigned id = 0; id < 0x10000; id += 251) {
            auto header = good;
            header.time_to_live = static_cast<std::uint8_t>(ttl);
            header.identification = static_cast<std::uint16_t>(id);
            const auto p = make_packet(packet(header, 20));
            decrement_ttl(*p);
            --header.time_to_live;
            ASSERT_EQ(bytes_of(p), packet(header, 20));
        }
    }
}

TEST(DecrementTtl, CarriesAtEveryChecksum) {
    const auto p = make_packet(packet(good, 20));
    for (unsigned id = 0; id < 0x10000; ++id) {
        auto header = good;
        header.identification = static_cast<std::uint16_t>(id);
        header.with_checksum().emit(std::span(rte_pktmbuf_mtod(&*p, std::byte*), wire::Ipv4::size).first<20>());
        decrement_ttl(*p);
        --header.time_to_live;
        ASSERT_EQ(bytes_of(p), packet(header, 20)) << id;
    }
}

}  // namespace
}  // namespace verbline::forward

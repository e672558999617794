// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/offload/checksum.h"

#include <random>

#include <rte_mbuf.h>

#include <gtest/gtest.h>

#include "datapath/wire/ipv6.h"
#include "datapath/wire/udp.h"
#include "tests/datapath/offload/tcp_packet.h"
#include "tests/support/packet.h"

namespace verbline::offload {
namespace {

using test::bytes_from;
using test::bytes_of;
using test::make_packet;
using test::pattern;

TEST(Checksum, OfTheRfcsExample) {
    const auto bytes = bytes_from(0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7);
    EXPECT_EQ(Sum{}.add(bytes).checksum(), 0x220d);  // RFC 1071, 3
}

TEST(Checksum, AgreesWithTheNaiveOneAtEverySizeAndAlignment) {
    const auto bytes = pattern(700);
    for (std::size_t from = 0; from < 9; ++from) {
        for (std::size_t size = 0; size + from <= bytes.size(); ++size) {
            const auto part = std::span(bytes).subspan(from, size);
            ASSERT_EQ(Sum{}.add(part).checksum(), naive_checksum(part)) << size << " bytes from " << from;
        }
    }
}

TEST(Checksum, CarriesEveryCarry) {
    const test::ByteVector ones(65'535, std::byte{0xff});
    EXPECT_EQ(Sum{}.add(ones).checksum(), naive_checksum(ones));
}

TEST(Checksum, OfAHeaderAgreesWithTheSumAtEveryValue) {
    for (const std::size_t size : {20, 24}) {
        for (const auto fill : {std::byte{0}, std::byte{0xff}, std::byte{0x5a}}) {
            std::vector<std::byte> header(size, fill);
            for (unsigned value = 0; value < 0x10000; ++value) {
                wire::store16(header, 10, static_cast<std::uint16_t>(value));
                ASSERT_EQ(header_verifies(header), Sum{}.add(header).verifies()) << value;
            }
        }
    }
}

TEST(Checksum, CopiesWhatItSums) {
    const auto bytes = pattern(400);
    for (std::size_t size = 0; size <= bytes.size(); ++size) {
        test::ByteVector copy(size + 1, std::byte{0xee});
        const auto part = std::span(bytes).first(size);
        ASSERT_EQ(Sum{}.add_copying(copy.data(), part).checksum(), naive_checksum(part));
        ASSERT_TRUE(std::ranges::equal(std::span(copy).first(size), part)) << size;
        ASSERT_EQ(copy[size], std::byte{0xee}) << "one byte too many at size " << size;
    }
}

TEST(Checksum, OfPiecesOfAnyLength) {
    std::mt19937 random(1);
    const auto bytes = pattern(3000);
    for (int round = 0; round < 500; ++round) {
        Sum sum;
        for (std::size_t at = 0; at < bytes.size();) {
            const auto size = std::min<std::size_t>(random() % 40, bytes.size() - at);
            sum.add(std::span(bytes).subspan(at, size));
            at += size;
        }
        ASSERT_EQ(sum.checksum(), naive_checksum(bytes));
    }
}

TEST(Checksum, OfPartOfAChain) {
    const auto bytes = pattern(5000);
    const auto packet = make_packet(bytes, 333);
    for (const auto& [from, size] :
         {std::pair{0u, 5000u}, {1u, 332u}, {333u, 333u}, {332u, 2u}, {700u, 4300u}, {5000u, 0u}}) {
        Sum sum;
        add_chain(sum, *packet, from, size);
        EXPECT_EQ(sum.checksum(), naive_checksum(std::span(bytes).subspan(from, size))) << size << " from " << from;
    }
}

/// As the kernel hands a packet over: checksums to be done, the fields undefined.
test::Packet unfinished(test::ByteVector bytes, std::uint64_t requests, std::size_t segment = 2304) {
    bytes[10] = bytes[11] = std::byte{0xaa};
    auto packet = make_packet(bytes, segment);
    packet->ol_flags = RTE_MBUF_F_TX_IPV4 | requests;
    packet->l3_len = 20;
    return packet;
}

TEST(FinishChecksums, OfTcpOverAChain) {
    const auto bytes = TcpPacket{.payload = pattern(1999)}.bytes();
    auto spoilt = bytes;
    spoilt[36] ^= std::byte{0xff};
    const auto packet = unfinished(spoilt, RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_CKSUM, 77);
    ASSERT_TRUE(finish_checksums(*packet));
    EXPECT_EQ(bytes_of(packet), bytes);
    EXPECT_EQ(packet->ol_flags & (RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK), 0u);
}

/// An IPv4 packet with a UDP datagram; checksum as given.
test::ByteVector udp_packet(test::ByteVector payload, std::uint16_t checksum) {
    test::ByteVector bytes(28 + payload.size());
    wire::Ipv4{.total_length = static_cast<std::uint16_t>(28 + payload.size()), .protocol = wire::IpProtocol::udp}
        .with_checksum()
        .emit(std::span(bytes).first<20>());
    wire::Udp{.length = static_cast<std::uint16_t>(8 + payload.size()), .checksum = checksum}.emit(
        std::span(bytes).subspan<20, 8>());
    std::ranges::copy(payload, bytes.begin() + 28);
    return bytes;
}

TEST(FinishChecksums, SendsAUdpSumOfZeroAsAllOnes) {
    // Pseudo-header, header and payload: 17 + 10 + 10 + payload = 0xffff, whose complement is zero.
    const auto packet = unfinished(udp_packet(bytes_from(0xff, 0xda), 0), RTE_MBUF_F_TX_UDP_CKSUM);
    ASSERT_TRUE(finish_checksums(*packet));
    EXPECT_EQ(wire::load16(bytes_of(packet), 26), 0xffff);
    EXPECT_EQ(verify_l4(*packet), L4Verdict::good);
}

TEST(FinishChecksums, OfUdpOverIpv6) {
    const auto payload = pattern(5);
    test::ByteVector bytes(48 + payload.size());
    wire::Ipv6 ip{.payload_length = 13, .next_header = wire::IpProtocol::udp};
    ip.source.bytes[15] = std::byte{1}, ip.destination.bytes[0] = std::byte{0xfe};
    ip.emit(std::span(bytes).first<40>());
    wire::Udp{.source_port = 1, .destination_port = 2, .length = 13}.emit(std::span(bytes).subspan<40, 8>());
    std::ranges::copy(payload, bytes.begin() + 48);
    const auto packet = make_packet(bytes);
    packet->ol_flags = RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_UDP_CKSUM;
    packet->l3_len = 40;
    ASSERT_TRUE(finish_checksums(*packet));

    const auto sent = bytes_of(packet);
    EXPECT_EQ(naive_checksum(std::span(sent).subspan(8), 13 + 17), 0) << "addresses, datagram, length, protocol";
}

TEST(FinishChecksums, RefusesHeadersThatAreNotThere) {
    for (const auto requests : {RTE_MBUF_F_TX_IP_CKSUM, RTE_MBUF_F_TX_TCP_CKSUM, RTE_MBUF_F_TX_UDP_CKSUM}) {
        for (std::size_t size = 12; size < 20; ++size) {
            EXPECT_FALSE(finish_checksums(*unfinished(pattern(size), requests))) << size;
        }
    }
    EXPECT_FALSE(finish_checksums(*unfinished(pattern(39), RTE_MBUF_F_TX_TCP_CKSUM)));
    EXPECT_FALSE(finish_checksums(*unfinished(pattern(27), RTE_MBUF_F_TX_UDP_CKSUM)));
    EXPECT_FALSE(finish_checksums(*unfinished(pattern(60), RTE_MBUF_F_TX_SCTP_CKSUM)));
    const auto packet = unfinished(pattern(60), RTE_MBUF_F_TX_TCP_CKSUM);
    packet->l3_len = 12;
    EXPECT_FALSE(finish_checksums(*packet));
}

TEST(FinishChecksums, LeavesAPacketWithoutRequestsAlone) {
    const auto packet = make_packet(pattern(3));
    EXPECT_TRUE(finish_checksums(*packet));
    EXPECT_EQ(bytes_of(packet), pattern(3));
}

TEST(VerifyL4, SeesEveryFlippedBitOfATcpPacket) {
    const auto bytes = TcpPacket{.payload = pattern(61)}.bytes();
    EXPECT_EQ(verify_l4(*make_packet(bytes)), L4Verdict::good);
    for (std::size_t bit = 20 * 8; bit < bytes.size() * 8; ++bit) {
        auto damaged = bytes;
        damaged[bit / 8] ^= std::byte{1} << bit % 8;
        ASSERT_EQ(verify_l4(*make_packet(damaged, 50)), L4Verdict::bad) << "bit " << bit;
    }
}

TEST(VerifyL4, LooksNotAtPaddingBehindThePacket) {
    auto bytes = TcpPacket{}.bytes();
    bytes.resize(46, std::byte{0x55});
    EXPECT_EQ(verify_l4(*make_packet(bytes)), L4Verdict::good);
}

TEST(VerifyL4, HasNoOpinionOnWhatCarriesNoChecksum) {
    EXPECT_EQ(verify_l4(*make_packet(udp_packet(pattern(9), 0))), L4Verdict::none) << "UDP without";
    TcpPacket fragment{.payload = pattern(64)};
    fragment.ip.more_fragments = true;
    EXPECT_EQ(verify_l4(*make_packet(fragment.bytes())), L4Verdict::none);
    TcpPacket other{.payload = pattern(64)};
    other.ip.protocol = wire::IpProtocol::icmp;
    EXPECT_EQ(verify_l4(*make_packet(other.bytes())), L4Verdict::none);
    auto too_short = TcpPacket{}.bytes();
    wire::store16(too_short, 2, 39);
    EXPECT_EQ(verify_l4(*make_packet(too_short)), L4Verdict::none) << "no room for a TCP header";
    const auto whole = TcpPacket{.payload = pattern(8)}.bytes();
    for (std::size_t size = 1; size < whole.size(); ++size) {
        EXPECT_EQ(verify_l4(*make_packet(std::span(whole).first(size))), L4Verdict::none) << "truncated to " << size;
    }
}

}  // namespace
}  // namespace verbline::offload

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/icrc.h"

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/wire/bth.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/udp.h"
#include "tests/datapath/wire/crc_reference.h"
#include "tests/support/hex.h"
#include "tests/support/pcap.h"

namespace verbline::wire {
namespace {

// A congestion notification packet of a ConnectX-4 Lx, from the tests of scapy: IPv4, UDP, BTH, 16 bytes, ICRC.
const auto cnp = test::from_hex(
    "45c2003c718c4000401191610a0011010a001201 000012b700280000 8100ffff4000011800000000 "
    "00000000000000000000000000000000 82fd002a");

TEST(Icrc, OfAHardwareCnp) {
    EXPECT_TRUE(icrc_ok(IcrcOver::ipv4, cnp));
    auto copy = cnp;
    std::ranges::fill(std::span(copy).last<4>(), std::byte{0});
    EXPECT_FALSE(icrc_ok(IcrcOver::ipv4, copy));
    EXPECT_TRUE(write_icrc(IcrcOver::ipv4, copy));
    EXPECT_EQ(copy, cnp);
}

// The sample packets of IBTA volume 1, 7.8: a local and a global one. The standard prints 0x9625B75A for the first.
const auto local = test::from_hex(
    "7012375c000e17d2 0a20248700 87b1b3000dec2a 01710a1c015d400238f27a05 0000000ebb884d85fd5cfba4728bc0690ed40000 "
    "9625b75a");
const auto global = test::from_hex(
    "6000000000320010 00000000000001250000000000000026 00000000000001170000000000000096"
    "0a20248700 87b1b3000dec2a 01710a1c015d400238f27a05 0000000ebb884d85fd5cfba4728bc0690ed40000");

TEST(Icrc, OfTheStandardsLocalPacket) {
    EXPECT_TRUE(icrc_ok(IcrcOver::lrh, local));
}

constexpr std::size_t ipv4_bth = 28, ipv6_bth = 48, grh_bth = 40, lrh_bth = 8;

std::uint32_t expected(IcrcOver first, Bytes covered) {
    switch (first) {
        case IcrcOver::ipv4: return reference::icrc(covered, {{1}, {8}, {10}, {11}, {26}, {27}, {ipv4_bth + 4}}, true);
        case IcrcOver::ipv6:
            return reference::icrc(covered, {{0, 0x0f}, {1}, {2}, {3}, {7}, {46}, {47}, {ipv6_bth + 4}}, true);
        case IcrcOver::grh: return reference::icrc(covered, {{0, 0x0f}, {1}, {2}, {3}, {7}, {grh_bth + 4}}, true);
        case IcrcOver::lrh: return reference::icrc(covered, {{0, 0xf0}, {lrh_bth + 4}}, false);
    }
    return 0;
}

TEST(Icrc, OfTheStandardsGlobalPacket) {
    EXPECT_EQ(Icrc::begin(IcrcOver::grh, global)->value(), expected(IcrcOver::grh, global));
}

class IcrcOverEach : public testing::TestWithParam<IcrcOver> {
protected:
    std::size_t headers() const {
        constexpr std::size_t behind[] = {ipv4_bth, ipv6_bth, grh_bth, lrh_bth};
        return behind[static_cast<std::size_t>(GetParam())] + Bth::size;
    }
    std::vector<std::byte> random_packet(std::size_t size) {
        std::vector<std::byte> bytes(size);
        for (auto& byte : bytes) byte = static_cast<std::byte>(random_());
        if (GetParam() == IcrcOver::ipv4 && !bytes.empty()) bytes[0] = std::byte{0x45};
        return bytes;
    }
    std::mt19937 random_{7};
};

TEST_P(IcrcOverEach, EqualsTheDefinition) {
    for (std::size_t size = headers(); size < headers() + 500; ++size) {
        const auto packet = random_packet(size);
        ASSERT_EQ(Icrc::begin(GetParam(), packet)->value(), expected(GetParam(), packet)) << size;
    }
    const auto large = random_packet(4200);
    EXPECT_EQ(Icrc::begin(GetParam(), large)->value(), expected(GetParam(), large));
}

TEST_P(IcrcOverEach, ComesOutTheSameInPieces) {
    const auto packet = random_packet(1500);
    const auto whole = Icrc::begin(GetParam(), packet)->value();
    for (std::size_t cut = headers(); cut < packet.size(); cut += 1 + random_() % 40) {
        auto icrc = *Icrc::begin(GetParam(), Bytes(packet).first(cut));
        const auto middle = cut + (packet.size() - cut) / 3;
        icrc.add(Bytes(packet).first(middle).subspan(cut));
        icrc.add({});
        icrc.add(Bytes(packet).subspan(middle));
        ASSERT_EQ(icrc.value(), whole) << cut;
    }
}

TEST_P(IcrcOverEach, ComesOutTheSameWithTheVcrcInOnePass) {
    for (std::size_t size = headers(); size < headers() + 500; ++size) {
        const auto packet = random_packet(size);
        const auto before = random_packet(size % 9);
        Vcrc vcrc;
        vcrc.add(before);
        ASSERT_EQ(Icrc::begin(GetParam(), packet, vcrc)->value(), expected(GetParam(), packet)) << size;
        auto whole = before;
        whole.insert(whole.end(), packet.begin(), packet.end());
        ASSERT_EQ(vcrc.value(), reference::vcrc(whole)) << size;
    }
    Vcrc untouched;
    EXPECT_EQ(Icrc::begin(GetParam(), random_packet(headers() - 1), untouched).error(), Malformed::truncated);
    EXPECT_EQ(untouched.value(), Vcrc().value());
}

TEST_P(IcrcOverEach, RefusesWhatIsTooShort) {
    auto packet = random_packet(headers() + icrc_size);
    for (std::size_t size = 0; size < headers(); ++size) {
        ASSERT_EQ(Icrc::begin(GetParam(), Bytes(packet).first(size)).error(), Malformed::truncated) << size;
    }
    const auto before = packet;
    for (std::size_t size = 0; size < headers() + icrc_size; ++size) {
        ASSERT_FALSE(write_icrc(GetParam(), MutableBytes(packet).first(size))) << size;
        ASSERT_FALSE(icrc_ok(GetParam(), Bytes(packet).first(size))) << size;
    }
    EXPECT_EQ(packet, before);
    EXPECT_TRUE(write_icrc(GetParam(), packet));
}

TEST_P(IcrcOverEach, TakesNoPartOfTheHeadersForAnIcrc) {
    auto packet = random_packet(headers());
    const Bytes before = Bytes(packet).first(headers() - icrc_size);
    const auto crc = expected(GetParam(), before);
    for (unsigned i = 0; i < icrc_size; ++i) packet[before.size() + i] = static_cast<std::byte>(crc >> (8 * i));
    EXPECT_TRUE(Icrc::begin(GetParam(), packet)->verifies())
        << "by chance the sequence number is the CRC of all before";
    EXPECT_FALSE(icrc_ok(GetParam(), packet));
}

TEST_P(IcrcOverEach, FindsEveryChangedBitButTheMaskedOnes) {
    auto packet = random_packet(headers() + 40);
    ASSERT_TRUE(write_icrc(GetParam(), packet));
    for (std::size_t bit = 0; bit < packet.size() * 8; ++bit) {
        auto changed = packet;
        changed[bit / 8] ^= std::byte{0x80} >> (bit % 8);
        const bool covered = bit / 8 >= packet.size() - icrc_size ||
                             expected(GetParam(), Bytes(changed).first(packet.size() - icrc_size)) !=
                                 expected(GetParam(), Bytes(packet).first(packet.size() - icrc_size));
        if (GetParam() == IcrcOver::ipv4 && bit < 8) continue;  // refused, whatever the CRC
        ASSERT_EQ(icrc_ok(GetParam(), changed), !covered) << "bit " << bit;
    }
}

INSTANTIATE_TEST_SUITE_P(Headers, IcrcOverEach,
                         testing::Values(IcrcOver::ipv4, IcrcOver::ipv6, IcrcOver::grh, IcrcOver::lrh));

TEST(Icrc, RefusesIpv4Options) {
    auto packet = cnp;
    packet[0] = std::byte{0x46};
    EXPECT_EQ(Icrc::begin(IcrcOver::ipv4, packet).error(), Malformed::length);
    EXPECT_FALSE(icrc_ok(IcrcOver::ipv4, packet));
}

/// The RoCE v2 packet in an Ethernet frame: from the IP header through the ICRC.
struct RocePacket {
    IcrcOver first;
    Bytes bytes;
};
std::optional<RocePacket> roce_packet(Bytes frame) {
    const auto ethernet = Ethernet::parse(frame);
    if (!ethernet) return std::nullopt;
    const Bytes packet = frame.subspan(Ethernet::size);
    if (ethernet->type == ether_type::ipv4) {
        const auto ip = Ipv4::parse(packet);
        if (!ip || ip->protocol != IpProtocol::udp) return std::nullopt;
        const auto udp = Udp::parse(packet.first(ip->total_length).subspan(ip->header_size()));
        if (!udp || udp->destination_port != roce_v2_port) return std::nullopt;
        return RocePacket{IcrcOver::ipv4, packet.first(ip->total_length)};
    }
    const auto ip = Ipv6::parse(packet);
    if (ethernet->type != ether_type::ipv6 || !ip || ip->next_header != IpProtocol::udp) return std::nullopt;
    const auto udp = Udp::parse(packet.subspan(Ipv6::size, ip->payload_length));
    if (!udp || udp->destination_port != roce_v2_port) return std::nullopt;
    return RocePacket{IcrcOver::ipv6, packet.first(Ipv6::size + ip->payload_length)};
}

// What the kernel's rxe sent. One capture kept only 200 bytes of each frame: the longer ones cannot be judged.
TEST(Icrc, OfEveryRoceFrameCapturedWhole) {
    const struct {
        const char* file;
        unsigned good, cut_short;
    } captures[] = {{"rxe-rping-2iter", 29, 0}, {"rxe-mckey", 30, 0}, {"rxe-cm-send-write-read-atomic", 483, 0},
                    {"rxe-v6", 217, 0},         {"rxe-rnr", 1500, 0}, {"rxe-loss", 73, 1427}};
    for (const auto& capture : captures) {
        const auto frames = test::read_pcap(std::string(CAPTURES) + "/" + capture.file + ".pcap");
        unsigned good = 0, bad = 0, cut_short = 0;
        for (const auto& frame : frames) {
            if (!frame.whole()) {
                ++cut_short;
            } else if (const auto packet = roce_packet(frame.bytes)) {
                ++(icrc_ok(packet->first, packet->bytes) ? good : bad);
            }
        }
        EXPECT_EQ(good, capture.good) << capture.file;
        EXPECT_EQ(bad, 0u) << capture.file;
        EXPECT_EQ(cut_short, capture.cut_short) << capture.file;
    }
}

}  // namespace
}  // namespace verbline::wire

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/ib_packet.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/wire/bth.h"
#include "datapath/wire/grh.h"
#include "datapath/wire/lrh.h"
#include "datapath/wire/vcrc.h"
#include "tests/support/hex.h"

namespace verbline::wire {
namespace {

// The sample packet of IBTA volume 1, 7.8.
const auto sample = test::from_hex(
    "7012375c000e17d2 0a20248700 87b1b3000dec2a 01710a1c015d400238f27a05 0000000ebb884d85fd5cfba4728bc0690ed40000 "
    "9625b75a 45fa");

// The global one; its CRCs were worked out from their definitions, apart from this code.
const auto global_sample = test::from_hex(
    "7013375c001817d2 6000000000320010 00000000000001250000000000000026 00000000000001170000000000000096"
    "0a20248700 87b1b3000dec2a01710a1c015d400238f27a05 0000000ebb884d85fd5cfba4728bc0690ed40000 1493ec46 7c44");

std::vector<std::byte> blank(NextHeader next, std::size_t payload) {
    const std::size_t grh = next == NextHeader::grh ? Grh::size : 0;
    const std::size_t size = Lrh::size + grh + Bth::size + payload + 4;
    std::vector<std::byte> packet(size + 2, std::byte{0x5a});
    Lrh{.next = next, .packet_words = static_cast<std::uint16_t>(size / 4)}.emit(std::span(packet).first<Lrh::size>());
    return packet;
}

TEST(IbPacket, VerifiesTheStandardsSamples) {
    EXPECT_EQ(verify(sample), IbCheck::ok);
    EXPECT_EQ(verify(global_sample), IbCheck::ok);
}

TEST(IbPacket, SealsTheStandardsSample) {
    auto packet = sample;
    std::ranges::fill(std::span(packet).last<6>(), std::byte{0});
    EXPECT_TRUE(seal(packet));
    EXPECT_EQ(packet, sample);
}

TEST(IbPacket, VerifiesWhatItSealed) {
    for (const auto next : {NextHeader::bth, NextHeader::grh}) {
        for (std::size_t payload = 0; payload <= 4096; payload += 4) {
            auto packet = blank(next, payload);
            ASSERT_TRUE(seal(packet));
            ASSERT_EQ(verify(packet), IbCheck::ok) << payload;
        }
    }
}

TEST(IbPacket, TellsDamageOnTheLinkFromDamageBefore) {
    for (const auto next : {NextHeader::bth, NextHeader::grh}) {
        auto packet = blank(next, 64);
        ASSERT_TRUE(seal(packet));
        auto damaged = packet;
        damaged[packet.size() - 20] ^= std::byte{1};
        EXPECT_EQ(verify(damaged), IbCheck::vcrc);
        auto sealed_twice = damaged;
        ASSERT_TRUE(seal(sealed_twice));
        std::ranges::copy(std::span(packet).last<6>().first<4>(), sealed_twice.end() - 6);
        // A switch that damaged the packet inside and made a good VCRC of it.
        Vcrc vcrc;
        vcrc.add(Bytes(sealed_twice).first(sealed_twice.size() - 2));
        std::ranges::copy(vcrc.bytes(), sealed_twice.end() - 2);
        EXPECT_EQ(verify(sealed_twice), IbCheck::icrc);
    }
}

TEST(IbPacket, AChangedLaneIsVariant) {
    auto packet = sample;
    packet[0] = std::byte{0x30};  // VL 3
    EXPECT_EQ(verify(packet), IbCheck::vcrc);
    Vcrc vcrc;
    vcrc.add(Bytes(packet).first(packet.size() - 2));
    std::ranges::copy(vcrc.bytes(), packet.end() - 2);
    EXPECT_EQ(verify(packet), IbCheck::ok);
}

TEST(IbPacket, RefusesEveryTruncationAndTrailingByte) {
    for (std::size_t n = 0; n < sample.size(); ++n) ASSERT_EQ(verify(Bytes(sample).first(n)), IbCheck::malformed) << n;
    auto longer = sample;
    longer.push_back(std::byte{0});
    EXPECT_EQ(verify(longer), IbCheck::malformed);
    EXPECT_FALSE(seal(longer));
}

TEST(IbPacket, RefusesALengthThatHoldsNoHeaders) {
    for (std::uint16_t words = 0; words < 6; ++words) {
        std::vector<std::byte> packet(words * 4u + 2, std::byte{0});
        if (packet.size() >= Lrh::size) Lrh{.packet_words = words}.emit(std::span(packet).first<Lrh::size>());
        EXPECT_FALSE(seal(packet)) << words;
        EXPECT_EQ(verify(packet), IbCheck::malformed) << words;
    }
}

TEST(IbPacket, RefusesRawPackets) {
    for (const auto next : {NextHeader::raw, NextHeader::raw_ipv6}) {
        auto packet = blank(next, 64);
        EXPECT_FALSE(seal(packet));
        EXPECT_EQ(verify(packet), IbCheck::malformed);
    }
}

}  // namespace
}  // namespace verbline::wire

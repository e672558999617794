// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/icrc_patch.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/wire/icrc.h"
#include "tests/support/hex.h"

namespace verbline::wire {
namespace {

constexpr std::size_t bth_at = Ipv4::size + Udp::size;

/// From the IPv4 header, with a valid ICRC.
std::vector<std::byte> packet_of(std::size_t payload) {
    std::vector<std::byte> packet(icrc_headers(IcrcOver::ipv4) + payload + icrc_size);
    for (std::size_t i = 0; i < packet.size(); ++i) packet[i] = static_cast<std::byte>(i * 7);
    packet[0] = std::byte{0x45};
    EXPECT_TRUE(write_icrc(IcrcOver::ipv4, packet));
    return packet;
}

TEST(IcrcPatch, GivesTheIcrcOfTheChangedPacket) {
    for (const std::size_t payload : {0, 4, 252, 1024, 4096, 9000}) {
        for (const std::size_t at : {bth_at + 5, bth_at + 8}) {
            auto patched = packet_of(payload);
            const auto with = test::from_hex("80abcdef");
            patch_with_icrc(patched, at, with);
            EXPECT_TRUE(std::ranges::equal(std::span(patched).subspan(at, with.size()), with));
            EXPECT_TRUE(icrc_ok(IcrcOver::ipv4, patched)) << payload << " bytes, at " << at;
        }
    }
}

TEST(IcrcPatch, OfTheLastBytesBeforeIt) {
    auto packet = packet_of(4);
    patch_with_icrc(packet, packet.size() - 8, test::from_hex("01020304"));
    EXPECT_TRUE(icrc_ok(IcrcOver::ipv4, packet));
}

TEST(IcrcPatch, ADamagedPacketRemainsOne) {
    auto packet = packet_of(256);
    packet[bth_at + 100] ^= std::byte{4};
    patch_with_icrc(packet, bth_at + 8, test::from_hex("80abcdef"));
    EXPECT_FALSE(icrc_ok(IcrcOver::ipv4, packet));
}

TEST(IcrcPatch, TheSameBytesChangeNothing) {
    const auto before = packet_of(64);
    auto packet = before;
    patch_with_icrc(packet, bth_at + 8, Bytes(before).subspan(bth_at + 8, 4));
    EXPECT_EQ(packet, before);
}

}  // namespace
}  // namespace verbline::wire

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/soft_ib.h"

#include <gtest/gtest.h>

#include "datapath/wire/ethernet.h"
#include "tests/datapath/link/frames.h"

namespace verbline::link::soft_ib {
namespace {

using test::ByteVector;

constexpr wire::Lid us{3};
constexpr wire::AddressHandle unicast{.dlid = wire::Lid{4}, .sl = 2};
const wire::AddressHandle multicast{
    .dlid = wire::first_multicast_lid, .global = true, .dgid = test::their_gid, .hop_limit = 1};

ByteVector frame(const wire::AddressHandle& to, std::size_t payload) {
    return test::frame_on({"SoftIb", {.carrier = Carrier::soft_ib, .gid = test::our_gid, .lid = us}, to}, payload);
}

TEST(SoftIb, FindsThePartsOfAPacket) {
    for (const auto& to : {unicast, multicast}) {
        const auto bytes = frame(to, 20);
        const auto parts = check(bytes);
        ASSERT_TRUE(parts);
        EXPECT_EQ(parts->global, to.global);
        EXPECT_EQ(parts->network_at, to.global ? 22u : 14u);
        EXPECT_EQ(parts->bth_at, to.global ? 62u : 22u);
        EXPECT_EQ(parts->icrc_at, bytes.size() - trailer_size);
    }
}

TEST(SoftIb, EthernetCarriesTheLids) {
    const auto header = wire::Ethernet::parse(frame(multicast, 8));
    ASSERT_TRUE(header);
    EXPECT_EQ(header->type, wire::ether_type::soft_ib);
    EXPECT_TRUE(header->destination.multicast());
    EXPECT_EQ(header->source, mac_of(us));
}

TEST(SoftIb, AcceptsEthernetPadding) {
    auto bytes = frame(unicast, 4);
    const auto parts = check(bytes);
    bytes.resize(64);
    ASSERT_TRUE(parts && check(bytes));
    EXPECT_EQ(check(bytes)->icrc_at, parts->icrc_at);
}

TEST(SoftIb, RefusesEveryTruncation) {
    for (const auto& to : {unicast, multicast}) {
        const auto bytes = frame(to, 21);
        for (std::size_t n = 0; n < bytes.size(); ++n) {
            const auto got = check(wire::Bytes(bytes).first(n));
            ASSERT_FALSE(got);
            EXPECT_EQ(got.error(), Discard::rx_dropped_truncated) << n;
        }
    }
}

// The Ethernet header is covered by Ethernet's own check; from the LRH on, the CRCs must find any single wrong bit.
TEST(SoftIb, RefusesEveryFlippedBit) {
    const auto good = frame(multicast, 40);
    for (std::size_t bit = 14 * 8; bit < good.size() * 8; ++bit) {
        auto bad = good;
        bad[bit / 8] ^= static_cast<std::byte>(0x80 >> bit % 8);
        EXPECT_FALSE(check(bad)) << "bit " << bit % 8 << " of byte " << bit / 8;
    }
}

TEST(SoftIb, NamesForeignFrames) {
    auto bytes = frame(unicast, 4);
    bytes[12] = std::byte{8}, bytes[13] = std::byte{0};
    EXPECT_EQ(check(bytes).error(), Discard::rx_dropped_foreign);
}

}  // namespace
}  // namespace verbline::link::soft_ib

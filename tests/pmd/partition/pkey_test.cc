// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/partition/pkey.h"

#include <gtest/gtest.h>

#include "tests/pmd/partition/frames.h"

namespace verbline::pmd::partition {
namespace {

constexpr wire::PKey blue{0x8001}, limited{0x0001};

TEST(PkeyOf, FindsItOnEachCarrier) {
    EXPECT_EQ(pkey_of(fabric_frame(blue)), blue);
    EXPECT_EQ(pkey_of(fabric_frame(limited, 0, true)), limited) << "behind a GRH";
    EXPECT_EQ(pkey_of(roce_frame(blue)), blue);
}

TEST(PkeyOf, IsEmptyForFramesWithoutBth) {
    EXPECT_EQ(pkey_of(roce_frame(blue, 53)), std::nullopt) << "another port of UDP";
    auto tcp = roce_frame(blue);
    tcp[wire::Ethernet::size + 6] = std::byte{6};
    EXPECT_EQ(pkey_of(tcp), std::nullopt);
    auto arp = fabric_frame(blue);
    arp[12] = std::byte{0x08}, arp[13] = std::byte{0x06};
    EXPECT_EQ(pkey_of(arp), std::nullopt);
    auto raw = fabric_frame(blue);
    raw[wire::Ethernet::size + 1] = std::byte{0};
    EXPECT_EQ(pkey_of(raw), std::nullopt) << "raw packets have no BTH (IBTA volume 1, 5.3)";
}

TEST(PkeyOf, IsNoneOfTruncatedFrames) {
    for (const auto& whole : {fabric_frame(blue), fabric_frame(blue, 0, true), roce_frame(blue)}) {
        const auto end = bth_at(whole) + wire::Bth::size;
        for (std::size_t size = 0; size < end; ++size) {
            SCOPED_TRACE(size);
            const test::ByteVector cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
            EXPECT_EQ(pkey_of(cut), std::nullopt);
        }
        EXPECT_EQ(pkey_of(std::span(whole).first(end)), blue);
    }
}

}  // namespace
}  // namespace verbline::pmd::partition

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/traffic/size_mix.h"

#include <gtest/gtest.h>

namespace verbline::traffic {
namespace {

using Sizes = std::vector<std::uint32_t>;
using Period = std::vector<std::uint16_t>;

TEST(SizeMix, OneSizeRepeats) {
    const auto mix = SizeMix::parse("9216").value();
    EXPECT_EQ(mix.sizes(), Sizes{9216});
    EXPECT_EQ(mix.period(), Period{0});
    EXPECT_EQ(mix.average(), 9216);
}

TEST(SizeMix, WeightsAreSpreadOverThePeriod) {
    const auto mix = SizeMix::parse("64:3,128:1").value();
    EXPECT_EQ(mix.period(), (Period{0, 0, 1, 0}));
    EXPECT_EQ(mix.average(), 80);
    EXPECT_EQ(mix.largest(), 128u);
}

TEST(SizeMix, WithoutWeightsSizesTakeTurns) {
    EXPECT_EQ(SizeMix::parse("64,128,256").value().period(), (Period{0, 1, 2}));
}

TEST(SizeMix, ImixIsSevenFourOne) {
    const auto mix = SizeMix::parse("imix").value();
    EXPECT_EQ(mix.sizes(), (Sizes{64, 594, 1518}));
    EXPECT_EQ(mix.period().size(), 12u);
    EXPECT_NEAR(mix.average(), 361.83, 0.01);
}

TEST(SizeMix, WhatIsNoSizeIsRefused) {
    for (const auto* text :
         {"", "63", "9217", "64:0", "64:1001", "64:", "64,", ",64", "64 ", "-64", "imax", "64:1:1"}) {
        const auto refused = SizeMix::parse(text);
        ASSERT_FALSE(refused) << text;
        EXPECT_EQ(refused.error().what, std::string(text) +
                                            " is no frame size: give 64 to 9216, several as "
                                            "SIZE:WEIGHT,..., or imix");
    }
}

}  // namespace
}  // namespace verbline::traffic

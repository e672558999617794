// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/report/histogram.h"

#include <gtest/gtest.h>

namespace verbline::report {
namespace {

TEST(Histogram, BucketsOfAQuarterOfAnOctaveAreABin) {
    const auto found = bins({{2.1, 1}, {2.2, 2}, {2.5, 4}});
    ASSERT_EQ(found.size(), 2u);
    EXPECT_DOUBLE_EQ(found[0].low, 2);
    EXPECT_EQ(found[0].frames, 3);
    EXPECT_DOUBLE_EQ(found[1].low, found[0].high);
    EXPECT_EQ(found[1].frames, 4);
}

TEST(Histogram, EmptyBinsBetweenAreThere) {
    const auto found = bins({{1, 1}, {8, 1}});
    ASSERT_EQ(found.size(), 13u);
    EXPECT_EQ(found[0].frames, 1);
    EXPECT_EQ(found[1].frames, 0);
    EXPECT_EQ(found[12].frames, 1);
}

TEST(Histogram, NothingAndZero) {
    EXPECT_TRUE(bins({}).empty());
    EXPECT_EQ(bins({{0, 5}}).size(), 1u);
}

}  // namespace
}  // namespace verbline::report

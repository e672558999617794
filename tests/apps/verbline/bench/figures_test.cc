// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/figures.h"

#include <array>

#include <gtest/gtest.h>

namespace verbline::bench {
namespace {

TEST(Figures, MedianIsTheMiddleOrBetweenTheTwoInIt) {
    EXPECT_EQ(median({}), 0);
    EXPECT_EQ(median({7}), 7);
    EXPECT_EQ(median({9, 1, 5}), 5);
    EXPECT_EQ(median({9, 1, 5, 3}), 4);
    EXPECT_EQ(median({1, 1, 1, 100}), 1);
}

TEST(Figures, InterquartileMeanLeavesAQuarterOutAtEachEnd) {
    EXPECT_EQ(interquartile_mean({}), 0);
    EXPECT_EQ(interquartile_mean({1, 2, 9}), 4);
    EXPECT_EQ(interquartile_mean({1000, 10, 20, 0}), 15);
    EXPECT_EQ(interquartile_mean({7, 1, 2, 3, 4, 900, 5, 6}), 4.5);
}

TEST(Figures, SpreadIsFromTheLeastToTheGreatest) {
    EXPECT_EQ(spread_percent({}), 0);
    EXPECT_EQ(spread_percent({4}), 0);
    EXPECT_EQ(spread_percent({10, 8, 14}), 60);
    EXPECT_EQ(spread_percent({0, 0}), 0);
}

TEST(Figures, GeometricMeanIsOfRatios) {
    EXPECT_EQ(geometric_mean({}), 0);
    EXPECT_DOUBLE_EQ(geometric_mean(std::array{0.5, 2.}), 1);
    EXPECT_DOUBLE_EQ(geometric_mean(std::array{0.25, 0.25, 0.25}), 0.25);
}

}  // namespace
}  // namespace verbline::bench

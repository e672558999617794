// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/report/lines.h"

#include <gtest/gtest.h>

namespace verbline::report {
namespace {

Sample sample(std::string role, std::string flows, double x, double y) {
    return {{{"role", std::move(role)}, {"flows", std::move(flows)}}, x, y};
}

TEST(Lines, EqualParametersAreALineInTheOrderOfItsPlaces) {
    const auto lines = merge({sample("sink", "1 flow", 128, 2), sample("sink", "1 flow", 64, 1)}, "rate");
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0].name, "rate");
    ASSERT_EQ(lines[0].points.size(), 2u);
    EXPECT_EQ(lines[0].points[0].x, 64);
    EXPECT_EQ(lines[0].points[1].y, 2);
    EXPECT_FALSE(lines[0].points[0].low);
}

TEST(Lines, AreNamedByWhatTheyDifferIn) {
    const auto lines = merge({sample("sink", "1 flow", 64, 1), sample("sink", "1 flow", 128, 1),
                              sample("sink", "9 flows", 64, 1), sample("sink", "9 flows", 128, 1)},
                             "rate");
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0].name, "1 flow");
    EXPECT_EQ(lines[1].name, "9 flows");
}

TEST(Lines, RepeatsAreAMedianWithItsSpread) {
    const auto lines = merge({sample("sink", "", 1, 5), sample("sink", "", 1, 1), sample("sink", "", 1, 2),
                              sample("sink", "", 1, 4), sample("sink", "", 2, 7)},
                             "rate");
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0].points[0].y, 3);
    EXPECT_EQ(lines[0].points[0].low, 1);
    EXPECT_EQ(lines[0].points[0].high, 5);
}

TEST(Lines, OfASinglePointAreLeftOut) {
    const auto lines = merge({sample("sink", "1 flow", 64, 1), sample("sink", "1 flow", 64, 2),
                              sample("generator", "1 flow", 64, 1), sample("generator", "1 flow", 128, 1)},
                             "rate");
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0].name, "rate") << "there is no other to tell it from";
    EXPECT_TRUE(merge({}, "rate").empty());
}

TEST(Lines, InCommonIsWhatAllAgreeIn) {
    const std::vector one{sample("sink", "1 flow", 1, 1), sample("sink", "1 flow", 2, 1)};
    EXPECT_EQ(in_common(one), "All: sink, 1 flow.");
    auto two = one;
    two.insert(two.end(), {sample("sink", "9 flows", 1, 1), sample("sink", "9 flows", 2, 1)});
    EXPECT_EQ(in_common(two), "All: sink.");
    auto with_a_point = one;
    with_a_point.push_back(sample("generator", "1 flow", 1, 1));
    EXPECT_EQ(in_common(with_a_point), "All: sink, 1 flow.") << "that of a single point is left out";
    EXPECT_EQ(in_common({}), "");
}

}  // namespace
}  // namespace verbline::report

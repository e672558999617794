// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/traffic/latency_histogram.h"

#include <vector>

#include <gtest/gtest.h>

namespace verbline::traffic {
namespace {

TEST(LatencyHistogram, WithoutValuesIsAllZero) {
    const LatencyHistogram none;
    EXPECT_EQ(none.count(), 0u);
    EXPECT_EQ(none.min(), 0u);
    EXPECT_EQ(none.percentile(50), 0u);
    EXPECT_EQ(none.mean(), 0);
}

TEST(LatencyHistogram, PercentilesOfSmallValuesAreExact) {
    LatencyHistogram histogram;
    for (std::uint64_t value = 1; value <= 100; ++value) histogram.record(value);
    EXPECT_EQ(histogram.percentile(50), 50u);
    EXPECT_EQ(histogram.percentile(99), 99u);
    EXPECT_EQ(histogram.percentile(99.99), 100u);
    EXPECT_EQ(histogram.percentile(0), 1u);
    EXPECT_EQ(histogram.mean(), 50.5);
}

TEST(LatencyHistogram, AnyValueIsKnownToHalfAPerCent) {
    for (unsigned bit = 0; bit < 64; ++bit) {
        for (const std::uint64_t value :
             {std::uint64_t{1} << bit, (std::uint64_t{1} << bit) + (std::uint64_t{1} << bit) / 3,
              (std::uint64_t{2} << bit) - 1}) {
            LatencyHistogram histogram;
            histogram.record(0);
            histogram.record(value);
            histogram.record(~std::uint64_t{0});
            const auto found = histogram.percentile(60);
            EXPECT_GE(found, value);
            EXPECT_LE(static_cast<double>(found - value), 0.004 * static_cast<double>(value)) << value;
        }
    }
}

TEST(LatencyHistogram, TailIsNotSmoothedAway) {
    LatencyHistogram histogram;
    for (unsigned i = 0; i < 9999; ++i) histogram.record(1000);
    histogram.record(1'000'000);
    EXPECT_LE(histogram.percentile(99.99), 1004u);
    EXPECT_EQ(histogram.percentile(100), 1'000'000u);
    EXPECT_EQ(histogram.max(), 1'000'000u);
}

TEST(LatencyHistogram, SumIsThatOfAllValues) {
    LatencyHistogram low, high;
    for (unsigned i = 0; i < 50; ++i) low.record(10), high.record(100'000);
    low += high;
    EXPECT_EQ(low.count(), 100u);
    EXPECT_EQ(low.min(), 10u);
    EXPECT_EQ(low.max(), 100'000u);
    EXPECT_EQ(low.percentile(50), 10u);
    EXPECT_EQ(low.mean(), 50'005);
    std::vector<std::uint64_t> counts;
    low.each([&](std::uint64_t, std::uint64_t count) { counts.push_back(count); });
    EXPECT_EQ(counts, (std::vector<std::uint64_t>{50, 50}));
}

}  // namespace
}  // namespace verbline::traffic

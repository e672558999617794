// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/rdma/statistics.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace verbline::rdma_bench {
namespace {

TEST(PeakRecord, IsTheBestStretchFromAPostingToACompletion) {
    PeakRecord record(6);
    record.posted(0, 100), record.posted(2, 200), record.posted(4, 300);
    record.completed(2, 400), record.completed(4, 410), record.completed(6, 600);
    // Two messages from 200 to 410, or four from 100 to 410: 77.5 each.
    EXPECT_DOUBLE_EQ(record.nanoseconds().value(), 77.5);
}

TEST(PeakRecord, IsTheLeastOfAllPairs) {
    std::mt19937 random(1);
    for (int repeat = 0; repeat < 200; ++repeat) {
        PeakRecord record(100);
        std::vector<std::pair<std::uint64_t, Time>> posts, completions;
        Time now = 1;
        for (std::uint64_t posted = 0, completed = 0; completed < 40;) {
            now += 1 + static_cast<Time>(random() % 50);
            if (posted < 40 && (random() % 2 == 0 || posted == completed)) {
                record.posted(posted, now), posts.emplace_back(posted, now);
                posted += 1 + random() % 3;
            } else if (completed < posted) {
                completed += 1 + random() % (posted - completed);
                record.completed(completed, now), completions.emplace_back(completed, now);
            }
        }
        double best = 1e18;
        for (const auto& [before, at] : posts)
            for (const auto& [count, then] : completions)
                if (count > before && then > at)
                    best = std::min(best, static_cast<double>(then - at) / static_cast<double>(count - before));
        ASSERT_DOUBLE_EQ(record.nanoseconds().value(), best) << repeat;
    }
}

TEST(PeakRecord, ThereIsNoneOfManyMessagesOrOfAnUnknownNumber) {
    for (auto expected :
         {std::optional<std::uint64_t>(PeakRecord::most_messages + 1), std::optional<std::uint64_t>()}) {
        PeakRecord record(expected);
        record.posted(0, 1), record.completed(1, 2);
        EXPECT_FALSE(record.nanoseconds());
    }
}

TEST(BandwidthFigures, RatesAreOfTheMeasuredTime) {
    const BandwidthFigures figures{.messages = 1000, .elapsed = 2 * millisecond, .peak_nanoseconds = 500.};
    EXPECT_DOUBLE_EQ(figures.messages_per_second(), 500'000);
    EXPECT_DOUBLE_EQ(figures.peak_messages_per_second(), 2'000'000);
    EXPECT_EQ(BandwidthFigures().messages_per_second(), 0);
    EXPECT_EQ(BandwidthFigures().peak_messages_per_second(), 0);
}

TEST(LatencyFigures, AreOneWayOfAMessageAndItsAnswer) {
    std::vector<Time> times;
    for (Time i = 1; i <= 1002; ++i) times.push_back(i * 2 * microsecond);
    std::ranges::shuffle(times, std::mt19937(1));
    const auto found = latency_figures(times, 2);
    EXPECT_DOUBLE_EQ(found.least, 1);
    EXPECT_DOUBLE_EQ(found.most, 1000);  // the two longest are left out
    EXPECT_DOUBLE_EQ(found.typical, 500.5);
    EXPECT_DOUBLE_EQ(found.average, 500.5);
    EXPECT_NEAR(found.deviation, 288.675, 0.001);
    EXPECT_DOUBLE_EQ(found.percentile_99, 991);
    EXPECT_DOUBLE_EQ(found.percentile_99_9, 1000);
}

TEST(LatencyFigures, FewTimesAreAllCounted) {
    std::vector<Time> times{3 * microsecond, microsecond};
    const auto found = latency_figures(times, 1);
    EXPECT_DOUBLE_EQ(found.least, 1);
    EXPECT_DOUBLE_EQ(found.most, 3);
    EXPECT_DOUBLE_EQ(found.average, 2);
    EXPECT_EQ(latency_figures({}, 1).average, 0);
}

}  // namespace
}  // namespace verbline::rdma_bench

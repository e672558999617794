// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/traffic/throughput_search.h"

#include <vector>

#include <gtest/gtest.h>

namespace verbline::traffic {
namespace {

/// What a device does that passes `limit` frames a second, and a generator that sends at most `most`.
Trial trial(double asked, double limit, double most) {
    const double offered = std::min(asked, most);
    const auto sent = static_cast<std::uint64_t>(10 * offered);
    return {.offered = offered, .sent = sent, .received = std::min(sent, static_cast<std::uint64_t>(10 * limit))};
}

ThroughputSearch searched(const SearchSettings& settings, double limit, double most = 1e12) {
    ThroughputSearch search(settings);
    while (const auto rate = search.next()) search.report(trial(*rate, limit, most));
    return search;
}

TEST(ThroughputSearch, FindsTheLimitWithinItsResolution) {
    for (const double limit : {99.0, 1000.0, 12'345.0, 500'000.0, 999'000.0}) {
        const auto search = searched({.max_rate = 1e6, .resolution = 0.005}, limit);
        EXPECT_LE(search.throughput(), limit * 1.001);
        EXPECT_GE(search.throughput(), limit * 0.99) << limit;
        EXPECT_FALSE(search.generator_limited());
        EXPECT_LE(search.trials(), 25u);
    }
}

TEST(ThroughputSearch, EndsAfterOneTrialIfNothingIsLost) {
    const auto search = searched({.max_rate = 1e6}, 2e6);
    EXPECT_EQ(search.trials(), 1u);
    EXPECT_EQ(search.throughput(), 1e6);
}

TEST(ThroughputSearch, WhatNeverPassesIsZero) {
    const auto search = searched({.max_rate = 1e6}, 0);
    EXPECT_EQ(search.throughput(), 0);
    EXPECT_LE(search.trials(), 25u);
}

TEST(ThroughputSearch, SaysIfTheGeneratorIsTheLimit) {
    const auto search = searched({.max_rate = 1e6}, 2e6, 3e5);
    EXPECT_TRUE(search.generator_limited());
    EXPECT_NEAR(search.throughput(), 3e5, 3e3);
}

TEST(ThroughputSearch, TrialSentTooSlowlyIsRepeated) {
    ThroughputSearch search({.max_rate = 1000});
    search.report({.offered = 1000, .sent = 1000, .received = 500});
    ASSERT_EQ(search.next(), 500);
    search.report({.offered = 300, .sent = 300, .received = 300});  // something else had the CPU
    ASSERT_EQ(search.next(), 650);
    search.report({.offered = 650, .sent = 650, .received = 650});
    EXPECT_EQ(search.throughput(), 650);
    EXPECT_FALSE(search.generator_limited());
}

TEST(ThroughputSearch, AcceptsTheLossThatItIsTold) {
    const auto lossy = [](double rate) { return Trial{.offered = rate, .sent = 10'000, .received = 9'999}; };
    ThroughputSearch strict({.max_rate = 1000}), lenient({.max_rate = 1000, .accepted_loss = 1e-4});
    strict.report(lossy(1000)), lenient.report(lossy(1000));
    EXPECT_EQ(strict.throughput(), 0);
    EXPECT_EQ(lenient.throughput(), 1000);
}

TEST(LossSeries, EndsAfterTwoTrialsWithoutLoss) {
    LossSeries series(1000);
    std::vector<double> rates;
    while (const auto rate = series.next()) {
        rates.push_back(*rate);
        series.report(trial(*rate, 750, 1e12));
    }
    EXPECT_EQ(rates, (std::vector<double>{1000, 900, 800, 700, 600}));
}

TEST(LossSeries, LossInBetweenStartsAgain) {
    LossSeries series(1000);
    for (const bool loss : {false, true, false}) series.report({.sent = 10, .received = loss ? 9u : 10u});
    EXPECT_EQ(series.next(), 700);
}

TEST(LossSeries, EndsAtTenPerCent) {
    LossSeries series(1000);
    unsigned trials = 0;
    for (; series.next(); ++trials) series.report({.sent = 10, .received = 0});
    EXPECT_EQ(trials, 10u);
}

TEST(BurstSearch, FindsTheLongestBurst) {
    for (const std::uint64_t fits : {0, 1, 777, 99'999, 100'000, 200'000}) {
        BurstSearch search(100'000);
        while (const auto frames = search.next()) search.report({.sent = *frames, .received = std::min(*frames, fits)});
        EXPECT_EQ(search.longest(), std::min<std::uint64_t>(fits, 100'000));
    }
}

}  // namespace
}  // namespace verbline::traffic

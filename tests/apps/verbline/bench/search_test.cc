// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/search.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace verbline::bench {
namespace {

PacketPlan search_plan(const char* test) {
    return make_plan({.devices = {"dpdk:net_null0"}, .search = test, .trial_seconds = 1}).value();
}

/// A port that passes so many frames of a trial, and no more.
RunTrial limited(std::uint64_t limit) {
    return [=](const TrialSettings& settings) -> Result<std::unique_ptr<TrialResult>> {
        auto result = std::make_unique<TrialResult>();
        result->asked = settings.rate;
        result->elapsed = second;
        result->tx.packets =
            std::min<std::uint64_t>(settings.frames, static_cast<std::uint64_t>(settings.rate->per_second));
        result->order.received = std::min(result->tx.packets, limit);
        return result;
    };
}

TEST(BenchSearch, ThroughputEndsWithATrialAtTheRateFound) {
    const auto outcome = run_search(search_plan("throughput"), 1e6, limited(300'000)).value();
    EXPECT_NEAR(outcome.found["throughput_mpps"].get<double>(), 0.3, 0.0015);
    EXPECT_EQ(outcome.trials.back()->asked->per_second, outcome.found["throughput_mpps"].get<double>() * 1e6);
    EXPECT_EQ(outcome.trials.size(), outcome.found["trials"].get<std::size_t>() + 1);
}

TEST(BenchSearch, LossIsListedByRate) {
    const auto found = run_search(search_plan("loss"), 1000, limited(800)).value().found;
    EXPECT_EQ(found["loss_percent_at_100"], 20);
    EXPECT_EQ(found["loss_percent_at_80"], 0);
    EXPECT_EQ(found["trials"], 4);
}

TEST(BenchSearch, LongestBurstIsExact) {
    EXPECT_EQ(run_search(search_plan("back-to-back"), 100'000, limited(12'345)).value().found["longest_burst"], 12'345);
}

TEST(BenchSearch, SignalEndsIt) {
    unsigned trials = 0;
    const RunTrial interrupted = [&](const TrialSettings& settings) {
        auto result = limited(0)(settings);
        (*result)->interrupted = ++trials == 2;
        return result;
    };
    EXPECT_EQ(run_search(search_plan("throughput"), 1e6, interrupted).value().trials.size(), 2u);
}

TEST(BenchSearch, ErrorOfATrialIsItsError) {
    const RunTrial failing = [](const TrialSettings&) -> Result<std::unique_ptr<TrialResult>> {
        return failure(EBUSY, "busy");
    };
    EXPECT_EQ(run_search(search_plan("loss"), 1e6, failing).error().what, "busy");
}

}  // namespace
}  // namespace verbline::bench

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/congestion/pacer.h"

#include <vector>

#include <gtest/gtest.h>

namespace verbline::congestion {
namespace {

constexpr std::uint64_t byte_per_nanosecond = 8'000'000'000;

/// When `count` packets leave whose sender always has one ready.
std::vector<Time> departures(Pacer& pacer, unsigned count, std::uint32_t bytes, std::uint64_t rate, Time now) {
    std::vector<Time> times;
    for (unsigned i = 0; i < count; ++i) {
        now = std::max(now, pacer.ready_at());
        times.push_back(now);
        pacer.sent(bytes, rate, now);
    }
    return times;
}

TEST(Pacer, IsReadyAtFirst) {
    EXPECT_LE(Pacer().ready_at(), std::numeric_limits<Time>::min());
}

TEST(Pacer, WithoutABurstPacketsAreEvenlySpaced) {
    Pacer pacer(0);
    EXPECT_EQ(departures(pacer, 4, 1000, byte_per_nanosecond, 500), (std::vector<Time>{500, 1500, 2500, 3500}));
}

TEST(Pacer, ABurstLeavesAtOnceAndThenTheRateHolds) {
    Pacer pacer(3000);
    EXPECT_EQ(departures(pacer, 7, 1000, byte_per_nanosecond, 0), (std::vector<Time>{0, 0, 0, 0, 1000, 2000, 3000}));
}

TEST(Pacer, IdleTimeIsWorthOneBurstAndNoMore) {
    Pacer pacer(2000);
    departures(pacer, 10, 1000, byte_per_nanosecond, 0);
    EXPECT_EQ(
        departures(pacer, 5, 1000, byte_per_nanosecond, 3600 * second),
        (std::vector<Time>{3600 * second, 3600 * second, 3600 * second, 3600 * second + 1000, 3600 * second + 2000}));
}

TEST(Pacer, DoesNotDrift) {
    // 64 bytes at 100 Gb/s are 5.12 ns; 1000 bytes at 7 Gb/s 1142.857.
    Pacer fast(0), odd(0);
    EXPECT_EQ(departures(fast, 1'000'001, 64, 100'000'000'000, 0).back(), 5'120'000);
    EXPECT_NEAR(static_cast<double>(departures(odd, 700'001, 1000, 7'000'000'000, 0).back()), 800'000'000, 1);
}

TEST(Pacer, FollowsTheRate) {
    Pacer pacer(0);
    pacer.sent(1000, byte_per_nanosecond, 0);
    pacer.sent(1000, byte_per_nanosecond / 4, pacer.ready_at());
    EXPECT_EQ(pacer.ready_at(), 5000);
}

}  // namespace
}  // namespace verbline::congestion

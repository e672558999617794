// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/backoff.h"

#include <gtest/gtest.h>

namespace verbline::router {
namespace {

constexpr Backoff::Limits limits{.awake = 4, .awake_polling = 40, .shortest = 10, .longest = 25};

TEST(Backoff, SpinsThenYieldsThenSleepsLongerAndLonger) {
    Backoff backoff(limits);
    EXPECT_EQ(backoff.idle(100), Idle::spin);
    EXPECT_EQ(backoff.idle(119), Idle::spin);
    EXPECT_EQ(backoff.idle(120), Idle::yield);
    EXPECT_EQ(backoff.idle(139), Idle::yield);
    Time now = 140;
    for (const Time expected : {10, 20, 25, 25}) {
        EXPECT_EQ(backoff.idle(now), Idle::sleep);
        EXPECT_EQ(backoff.sleep_time(), expected);
        now += expected;
    }
}

TEST(Backoff, SleepsSoonerWhereEventsEndTheSleep) {
    Backoff backoff(limits);
    backoff.events_end_sleep(true);
    EXPECT_EQ(backoff.idle(100), Idle::spin);
    EXPECT_EQ(backoff.idle(102), Idle::yield);
    EXPECT_EQ(backoff.idle(104), Idle::sleep);
    backoff.busy();
    backoff.events_end_sleep(false);
    EXPECT_EQ(backoff.idle(104), Idle::spin);
    EXPECT_EQ(backoff.idle(108), Idle::spin);
}

TEST(Backoff, StartsAgainAfterWork) {
    Backoff backoff(limits);
    for (Time now = 100; now < 300; now += 20) backoff.idle(now);
    backoff.busy();
    EXPECT_EQ(backoff.idle(300), Idle::spin);
    EXPECT_EQ(backoff.idle(340), Idle::sleep);
    EXPECT_EQ(backoff.sleep_time(), 10);
}

TEST(Backoff, NeverLeavesAnIsolatedCore) {
    Backoff backoff({.always_spin = true});
    for (Time now = 0; now < second; now += millisecond) EXPECT_EQ(backoff.idle(now), Idle::spin);
}

}  // namespace
}  // namespace verbline::router

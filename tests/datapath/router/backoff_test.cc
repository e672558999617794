// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/backoff.h"

#include <gtest/gtest.h>

namespace verbline::router {
namespace {

constexpr Backoff::Limits limits{.spins = 2, .yields = 1, .shortest = 10, .longest = 25};

TEST(Backoff, SpinsThenYieldsThenSleepsLongerAndLonger) {
    Backoff backoff(limits);
    EXPECT_EQ(backoff.idle(), Idle::spin);
    EXPECT_EQ(backoff.idle(), Idle::spin);
    EXPECT_EQ(backoff.idle(), Idle::yield);
    for (const Time expected : {10, 20, 25, 25}) {
        EXPECT_EQ(backoff.idle(), Idle::sleep);
        EXPECT_EQ(backoff.sleep_time(), expected);
    }
}

TEST(Backoff, StartsAgainAfterWork) {
    Backoff backoff(limits);
    for (int i = 0; i < 6; ++i) backoff.idle();
    backoff.busy();
    EXPECT_EQ(backoff.idle(), Idle::spin);
    for (int i = 0; i < 3; ++i) backoff.idle();
    EXPECT_EQ(backoff.sleep_time(), 10);
}

TEST(Backoff, NeverLeavesAnIsolatedCore) {
    Backoff backoff({.spins = 1, .always_spin = true});
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(backoff.idle(), Idle::spin);
}

}  // namespace
}  // namespace verbline::router

// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/shard/stall_watch.h"

#include <gtest/gtest.h>

namespace verbline::pmd {
namespace {

using Change = StallWatch::Change;

constexpr Time period = 50 * millisecond;

class StallWatchTest : public testing::Test {
protected:
    /// Looks for so long at a shard that makes so many polls in each period; returns the last change.
    Change look_for(Time time, unsigned polls_in_period) {
        auto seen = Change::none;
        for (const auto end = now + time; now < end;) {
            now += period, polls += polls_in_period;
            if (const auto change = watch.look(polls, now); change != Change::none) seen = change;
        }
        return seen;
    }

    StallWatch watch;
    Time now = 1000 * second;
    std::uint64_t polls = 0;
};

TEST_F(StallWatchTest, SaysNothingOfAShardThatPolls) {
    EXPECT_EQ(look_for(10 * second, 1), Change::none);
    EXPECT_FALSE(watch.standing());
    EXPECT_EQ(watch.stalls.value(), 0u);
}

TEST_F(StallWatchTest, SaysNothingOfAShardThatSleepsNowAndThen) {
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(look_for(800 * millisecond, 0), Change::none);
        EXPECT_EQ(look_for(period, 1), Change::none);
    }
}

TEST_F(StallWatchTest, SaysOnceThatItStandsStillAndOnceThatItGoesOn) {
    look_for(second, 7);
    EXPECT_EQ(look_for(second - period, 0), Change::none);
    EXPECT_EQ(look_for(period, 0), Change::stands_still);
    EXPECT_EQ(watch.standing(), second);
    EXPECT_EQ(look_for(4 * second, 0), Change::none) << "that is known";
    EXPECT_EQ(watch.standing(), 5 * second);
    EXPECT_EQ(look_for(period, 1), Change::goes_on);
    EXPECT_EQ(watch.stood(), 5 * second + period);
    EXPECT_FALSE(watch.standing());
    EXPECT_EQ(look_for(second, 1), Change::none);
    EXPECT_EQ(watch.stalls.value(), 1u);
    EXPECT_EQ(look_for(2 * second, 0), Change::stands_still);
    EXPECT_EQ(watch.stalls.value(), 2u);
}

TEST_F(StallWatchTest, NoticesAShardThatNeverBegins) {
    EXPECT_EQ(look_for(2 * second, 0), Change::stands_still);
}

TEST_F(StallWatchTest, DoesNotBlameTheShardIfTheWholeProcessStood) {
    look_for(second, 1);
    now += 60 * second;
    EXPECT_EQ(watch.look(polls, now), Change::none);
    EXPECT_EQ(look_for(500 * millisecond, 0), Change::none) << "it has a whole second from now on";
    EXPECT_EQ(look_for(second, 0), Change::stands_still);
}

TEST_F(StallWatchTest, CountsTheTimeInWhichNobodyLooked) {
    look_for(second, 1);
    EXPECT_EQ(look_for(2 * second, 0), Change::stands_still);
    now += 60 * second;
    EXPECT_EQ(look_for(period, 0), Change::none);
    EXPECT_EQ(watch.standing(), 62 * second + period);
}

}  // namespace
}  // namespace verbline::pmd

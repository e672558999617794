// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/router_advertiser.h"

#include <vector>

#include <gtest/gtest.h>

namespace verbline::neighbour {
namespace {

/// The times at which an advertisement is sent until `end`.
std::vector<Time> sent(RouterAdvertiser& advertiser, Time end) {
    std::vector<Time> times;
    while (advertiser.deadline() && *advertiser.deadline() <= end) {
        const auto now = *advertiser.deadline();
        EXPECT_FALSE(advertiser.due(now - 1));
        EXPECT_TRUE(advertiser.due(now));
        times.push_back(now);
    }
    return times;
}

TEST(RouterAdvertiser, BeginsSoonAndThenSlowsDown) {
    RouterAdvertiser advertiser(7);
    EXPECT_FALSE(advertiser.deadline()) << "nothing to advertise yet";
    advertiser.start(0);
    const auto times = sent(advertiser, 3600 * second);
    ASSERT_GT(times.size(), 5u);
    EXPECT_EQ(times[0], 0);
    for (std::size_t i = 1; i < times.size(); ++i) {
        const auto interval = times[i] - times[i - 1];
        if (i < 3) {
            EXPECT_LE(interval, 16 * second) << "number " << i;
        } else {
            EXPECT_GE(interval, 198 * second) << "number " << i;
            EXPECT_LE(interval, 600 * second) << "number " << i;
        }
    }
    EXPECT_NE(times[4] - times[3], times[5] - times[4]) << "at random";
}

TEST(RouterAdvertiser, AnswersSolicitationsAfterARandomDelay) {
    RouterAdvertiser advertiser(7);
    advertiser.start(0);
    const auto before = sent(advertiser, 1000 * second);
    const Time now = before.back() + 100 * second;
    advertiser.solicited(now);
    const auto first = *advertiser.deadline();
    EXPECT_GE(first, now);
    EXPECT_LE(first, now + 500 * millisecond);
    for (int i = 0; i < 100; ++i) advertiser.solicited(first);
    EXPECT_EQ(*advertiser.deadline(), first) << "one answers all";
    EXPECT_TRUE(advertiser.due(first));
    EXPECT_GE(*advertiser.deadline(), first + 198 * second) << "the interval begins anew (RFC 4861, 6.2.6)";
}

/// RFC 4861, 6.2.6: MIN_DELAY_BETWEEN_RAS.
TEST(RouterAdvertiser, NeverSendsTwoWithinThreeSeconds) {
    RouterAdvertiser advertiser(7);
    advertiser.start(0);
    std::vector<Time> times;
    for (Time now = 0; now < 60 * second; now += 10 * millisecond) {
        advertiser.solicited(now);
        if (now == 30 * second) advertiser.start(now);
        if (advertiser.due(now)) times.push_back(now);
    }
    ASSERT_GT(times.size(), 10u) << "a flood is answered at the limit";
    for (std::size_t i = 1; i < times.size(); ++i) EXPECT_GE(times[i] - times[i - 1], 3 * second);
}

TEST(RouterAdvertiser, IsSilentWhenThereIsNothingToSay) {
    RouterAdvertiser advertiser(7);
    advertiser.start(0);
    advertiser.stop();
    advertiser.solicited(0);
    EXPECT_FALSE(advertiser.deadline());
    EXPECT_FALSE(advertiser.due(1000 * second));
}

}  // namespace
}  // namespace verbline::neighbour

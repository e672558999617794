// SPDX-License-Identifier: BSD-3-Clause
#include <infiniband/verbs.h>

#include <gtest/gtest.h>

namespace {

TEST(Rates, EveryRateHasItsMegabits) {
    for (int value = IBV_RATE_2_5_GBPS; value <= IBV_RATE_1200_GBPS; ++value) {
        const auto rate = static_cast<ibv_rate>(value);
        EXPECT_GE(ibv_rate_to_mbps(rate), 2500) << value;
        EXPECT_EQ(mbps_to_ibv_rate(ibv_rate_to_mbps(rate)), rate) << value;
        const int multiple = ibv_rate_to_mult(rate);
        if (multiple > 0) {
            EXPECT_EQ(mult_to_ibv_rate(multiple), rate) << value;
        }
    }
}

TEST(Rates, AreThoseOfTheStandard) {
    EXPECT_EQ(ibv_rate_to_mbps(IBV_RATE_10_GBPS), 10'000);
    EXPECT_EQ(ibv_rate_to_mbps(IBV_RATE_100_GBPS), 103'125);
    EXPECT_EQ(ibv_rate_to_mult(IBV_RATE_2_5_GBPS), 1);
    EXPECT_EQ(ibv_rate_to_mult(IBV_RATE_120_GBPS), 48);
    EXPECT_EQ(ibv_rate_to_mult(IBV_RATE_100_GBPS), -1) << "no multiple of 2.5";
    EXPECT_EQ(mult_to_ibv_rate(16), IBV_RATE_40_GBPS);
}

TEST(Rates, OtherNumbersAreNone) {
    for (const int none : {-1, 0, 1, 25, 1 << 30}) {
        EXPECT_EQ(ibv_rate_to_mbps(static_cast<ibv_rate>(none)), -1) << none;
        EXPECT_EQ(ibv_rate_to_mult(static_cast<ibv_rate>(none)), -1) << none;
    }
    for (const int none : {-1, 0, 3, 1 << 30}) {
        EXPECT_EQ(mbps_to_ibv_rate(none), IBV_RATE_MAX) << none;
        EXPECT_EQ(mult_to_ibv_rate(none), IBV_RATE_MAX) << none;
    }
}

}  // namespace

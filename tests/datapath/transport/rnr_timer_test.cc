// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/rnr_timer.h"

#include <gtest/gtest.h>

namespace verbline::transport {
namespace {

TEST(RnrTimer, IsTheTableOfTheStandard) {
    EXPECT_EQ(rnr_delay(0), 655'360 * microsecond);
    EXPECT_EQ(rnr_delay(1), 10 * microsecond);
    EXPECT_EQ(rnr_delay(5), 60 * microsecond);
    EXPECT_EQ(rnr_delay(12), 640 * microsecond);
    EXPECT_EQ(rnr_delay(14), 1'280 * microsecond);
    EXPECT_EQ(rnr_delay(25), 61'440 * microsecond);
    EXPECT_EQ(rnr_delay(31), 491'520 * microsecond);
}

TEST(RnrTimer, GrowsFromOneCodeToTheNext) {
    for (std::uint8_t code = 2; code < 32; ++code) {
        EXPECT_GT(rnr_delay(code), rnr_delay(code - 1)) << +code;
        EXPECT_LE(rnr_delay(code), 2 * rnr_delay(code - 1)) << +code;
    }
}

}  // namespace
}  // namespace verbline::transport

// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/base/cpu_contention.h"

#include <gtest/gtest.h>

namespace verbline::pmd {
namespace {

constexpr CpuContention::Limits limits{.time_slice = 10, .shortest_hold = 100, .longest_hold = 300};

TEST(CpuContention, IsQuietAtFirst) {
    EXPECT_FALSE(CpuContention(limits).contended(1));
}

TEST(CpuContention, ShortAbsencesSayNothing) {
    CpuContention contention(limits);
    contention.went_on(1000, 9);
    EXPECT_FALSE(contention.contended(1000));
}

TEST(CpuContention, ALongAbsenceHoldsForAWhile) {
    CpuContention contention(limits);
    contention.went_on(1000, 10);
    EXPECT_TRUE(contention.contended(1000));
    EXPECT_TRUE(contention.contended(1099));
    EXPECT_FALSE(contention.contended(1100)) << "time to find out anew";
}

TEST(CpuContention, WhatIsKnownAlreadyChangesNothing) {
    CpuContention contention(limits);
    contention.went_on(1000, 10);
    contention.went_on(1050, 10);
    EXPECT_FALSE(contention.contended(1100));
}

TEST(CpuContention, TheSameAgainSoonHoldsTwiceAsLongUpToALimit) {
    CpuContention contention(limits);
    contention.went_on(1000, 10);
    contention.went_on(1150, 10);
    EXPECT_TRUE(contention.contended(1349));
    EXPECT_FALSE(contention.contended(1350));
    contention.went_on(1350, 10);
    EXPECT_TRUE(contention.contended(1649));
    EXPECT_FALSE(contention.contended(1650)) << "the limit, not four times as long";
}

TEST(CpuContention, AfterALongPeaceItBeginsAnew) {
    CpuContention contention(limits);
    contention.went_on(1000, 10);
    contention.went_on(1100, 10);
    contention.went_on(1500, 10);
    EXPECT_TRUE(contention.contended(1599));
    EXPECT_FALSE(contention.contended(1600));
}

}  // namespace
}  // namespace verbline::pmd

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/cm.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(CmTime, CodesDoubleAndRoundUp) {
    EXPECT_EQ(cm_nanoseconds(0), 4096);
    EXPECT_EQ(cm_nanoseconds(18), 1'073'741'824);
    EXPECT_EQ(cm_nanoseconds(31), std::int64_t{4096} << 31);
    EXPECT_EQ(cm_coded_time(0), 0);
    EXPECT_EQ(cm_coded_time(4097), 1);
    EXPECT_EQ(cm_coded_time(std::int64_t{1} << 62), 31);
    for (std::uint8_t code = 0; code < 32; ++code) {
        EXPECT_EQ(cm_coded_time(cm_nanoseconds(code)), code);
        EXPECT_EQ(cm_coded_time(cm_nanoseconds(code) + 1), std::min(code + 1, 31));
    }
}

}  // namespace
}  // namespace verbline::wire

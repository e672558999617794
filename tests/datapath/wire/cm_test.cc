// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/cm.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(CmTime, CodesDouble) {
    EXPECT_EQ(cm_nanoseconds(0), 4096);
    EXPECT_EQ(cm_nanoseconds(18), 1'073'741'824);
    EXPECT_EQ(cm_nanoseconds(31), std::int64_t{4096} << 31);
}

}  // namespace
}  // namespace verbline::wire

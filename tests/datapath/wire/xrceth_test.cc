// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/xrceth.h"

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(XrcEth, Golden) {
    expect_golden("00abcdef", XrcEth{.srq = 0xabcdef});
}

}  // namespace
}  // namespace verbline::wire

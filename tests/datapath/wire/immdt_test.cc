// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/immdt.h"

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(ImmDt, GoldenOfMckey) {
    expect_golden("00000011", ImmDt{.data = 0x11});
}

}  // namespace
}  // namespace verbline::wire

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/ieth.h"

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(Ieth, Golden) {
    expect_golden("000004b5", Ieth{.rkey = RKey{0x4b5}});
}

}  // namespace
}  // namespace verbline::wire

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/vxlan.h"

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(Vxlan, Golden) {
    expect_golden("0800 0000 1234 5600", Vxlan{.network = 0x123456});
}

TEST(Vxlan, RefusesAHeaderWithoutNetwork) {
    EXPECT_EQ(Vxlan::parse(test::from_hex("0000 0000 1234 5600")).error(), Malformed::version);
}

}  // namespace
}  // namespace verbline::wire

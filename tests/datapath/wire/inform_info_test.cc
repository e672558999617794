// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/inform_info.h"

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

// A subscription to trap 66 that OpenSM accepted.
TEST(InformInfo, Golden) {
    expect_golden("00000000000000000000000000000000 ffff 0000 0000 01 01 ffff 0042 001001 12 00 ffffff",
                  InformInfo{.trap = 66, .qpn = Qpn{0x1001}, .response_time = 18});
}

}  // namespace
}  // namespace verbline::wire

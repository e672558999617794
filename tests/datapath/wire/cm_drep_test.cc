// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/cm_drep.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

// The Linux kernel's soft-RoCE under rping.
TEST(CmDrep, Golden) {
    expect_golden("ba7ebc70 88677285" + std::string(448, '0'),
                  CmDrep{.local_id = 0xba7e'bc70, .remote_id = 0x8867'7285});
}

}  // namespace
}  // namespace verbline::wire

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/cm_rtu.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

// The Linux kernel's soft-RoCE under rping.
TEST(CmRtu, Golden) {
    expect_golden("88677285 ba7ebc70" + std::string(448, '0'),
                  CmRtu{.local_id = 0x8867'7285, .remote_id = 0xba7e'bc70});
}

}  // namespace
}  // namespace verbline::wire

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/cm_apr.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(CmApr, Golden) {
    CmApr apr{.local_id = 1, .remote_id = 2, .information_length = 1, .status = AprStatus::invalid_gid};
    apr.information.front() = std::byte{8};
    apr.private_data.front() = std::byte{9};
    expect_golden("00000001 00000002 01 08 0000 08" + std::string(142, '0') + "09" + std::string(294, '0'), apr);
}

}  // namespace
}  // namespace verbline::wire

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/cm_mra.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(CmMra, Golden) {
    CmMra mra{.local_id = 1, .remote_id = 2, .about = CmAbout::rep, .service_timeout = 24};
    mra.private_data.front() = std::byte{9};
    expect_golden("00000001 00000002 40 c0 09" + std::string(442, '0'), mra);
}

}  // namespace
}  // namespace verbline::wire

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/cm_rej.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(CmRej, Golden) {
    CmRej rej{.local_id = 1,
              .remote_id = 2,
              .about = CmAbout::other,
              .information_length = 72,
              .reason = CmRejectReason::consumer};
    rej.information.back() = std::byte{8};
    rej.private_data.front() = std::byte{9};
    expect_golden("00000001 00000002 80 90 001c" + std::string(142, '0') + "08 09" + std::string(294, '0'), rej);
}

}  // namespace
}  // namespace verbline::wire

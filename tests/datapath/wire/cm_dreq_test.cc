// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/cm_dreq.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

// The Linux kernel's soft-RoCE under rping.
TEST(CmDreq, Golden) {
    expect_golden("88677285 ba7ebc70 000011 00" + std::string(440, '0'),
                  CmDreq{.local_id = 0x8867'7285, .remote_id = 0xba7e'bc70, .remote_qpn = Qpn{0x11}});
}

}  // namespace
}  // namespace verbline::wire

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/cm_lap.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(CmLap, Golden) {
    expect_golden(
        "00000001 00000002 00000000 000011 a0 00000000 0003 0004"
        "fe800000000000000000000000000001 fe800000000000000000000000000002 abcde0 07 40 03 58 98" +
            std::string(336, '0'),
        CmLap{.local_id = 1,
              .remote_id = 2,
              .remote_qpn = Qpn{0x11},
              .response_timeout = 20,
              .local_lid = Lid{3},
              .remote_lid = Lid{4},
              .local_gid = Gid::of(default_subnet_prefix, Guid{1}),
              .remote_gid = Gid::of(default_subnet_prefix, Guid{2}),
              .flow_label = 0xabcde,
              .traffic_class = 7,
              .hop_limit = 64,
              .rate = 3,
              .service_level = 5,
              .subnet_local = true,
              .ack_timeout = 19});
}

}  // namespace
}  // namespace verbline::wire

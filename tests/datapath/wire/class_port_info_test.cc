// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/class_port_info.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

// As OpenSM answers.
TEST(ClassPortInfo, Golden) {
    expect_golden(
        "01 02 2602 0016bd10" + std::string(50, '0') + "000001 80010000" + std::string(50, '0') + "000000 80010000",
        ClassPortInfo{.capabilities = 0x2602,
                      .capabilities_2 = 0xb5e8,
                      .response_time = 16,
                      .redirect_qpn = Qpn{1},
                      .redirect_qkey = QKey{0x8001'0000},
                      .trap_qkey = QKey{0x8001'0000}});
}

TEST(ClassPortInfo, GoldenOfTheRarerFields) {
    expect_golden(
        "01 02 0000 00000000 fe800000000000000000000000100001 12 3abcde 0001 ffff 00 000000 00000000"
        "fe800000000000000000000000100004 34 5fedcb 0003 8001 40 000000 00000000",
        ClassPortInfo{.redirect_gid = Gid::of(default_subnet_prefix, Guid{0x10'0001}),
                      .redirect_traffic_class = 0x12,
                      .redirect_service_level = 3,
                      .redirect_flow_label = 0xabcde,
                      .redirect_lid = Lid{1},
                      .redirect_pkey = PKey{0xffff},
                      .trap_gid = Gid::of(default_subnet_prefix, Guid{0x10'0004}),
                      .trap_traffic_class = 0x34,
                      .trap_service_level = 5,
                      .trap_flow_label = 0xfedcb,
                      .trap_lid = Lid{3},
                      .trap_pkey = PKey{0x8001},
                      .trap_hop_limit = 64});
}

}  // namespace
}  // namespace verbline::wire

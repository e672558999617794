// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/port_info.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

// As OpenSM answers for a host of ibsim.
constexpr std::string_view captured_port_info =
    "0000000000000000 fe80000000000000 0004 0001 0050c048 0000 0ff9 01 02 1f 02 74 52 00 11 40 40 00 08 08 04 e0 40"
    "0000 0000 0000 20 1f 00 00 0000 00000000 0030 00 00";
const PortInfo port_info{.gid_prefix = default_subnet_prefix,
                         .lid = Lid{4},
                         .sm_lid = Lid{1},
                         .capabilities = 0x0050c048,
                         .mkey_lease = 0x0ff9,
                         .local_port = 1,
                         .width_enabled = 2,
                         .width_supported = 0x1f,
                         .width_active = 2,
                         .speed_supported = 7,
                         .state = PortState::active,
                         .physical_state = 5,
                         .link_down_default = 2,
                         .speed_active = 1,
                         .speed_enabled = 1,
                         .neighbour_mtu = IbMtu::bytes_2048,
                         .vl_cap = 4,
                         .vl_arbitration_high = 8,
                         .vl_arbitration_low = 8,
                         .mtu_cap = IbMtu::bytes_2048,
                         .vl_stall_count = 7,
                         .operational_vls = 4,
                         .guid_cap = 32,
                         .subnet_timeout = 31,
                         .capabilities_2 = 0x30};

TEST(PortInfo, Golden) {
    expect_golden(captured_port_info, port_info);
}

TEST(PortInfo, GoldenOfClientReregisterAndItsNeighbours) {
    expect_golden(std::string(68, '0') + "c5 00 03" + std::string(12, '0') +
                      "0f 0001 0002 0003 00 b2 13 45 0006 00000007 0000 12 1f",
                  PortInfo{.mkey_protect = 3,
                           .lmc = 5,
                           .sm_service_level = 3,
                           .pkey_enforced_in = true,
                           .pkey_enforced_out = true,
                           .raw_filtered_in = true,
                           .raw_filtered_out = true,
                           .mkey_violations = 1,
                           .pkey_violations = 2,
                           .qkey_violations = 3,
                           .client_reregister = true,
                           .multicast_pkey_trap_suppression = 1,
                           .subnet_timeout = 18,
                           .response_time = 19,
                           .physical_error_threshold = 4,
                           .overrun_error_threshold = 5,
                           .max_credit_hint = 6,
                           .round_trip = 7,
                           .extended_speed_active = 1,
                           .extended_speed_supported = 2,
                           .extended_speed_enabled = 31});
}

TEST(PortInfoRecord, Golden) {
    expect_golden("0004 01 00" + std::string(captured_port_info),
                  PortInfoRecord{.lid = Lid{4}, .port = 1, .info = port_info});
}

}  // namespace
}  // namespace verbline::wire

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/cm_rep.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

// As the Linux kernel's soft-RoCE answers rping.
TEST(CmRep, Golden) {
    expect_golden(
        "ba7ebc70 88677285 00000000 000011 00 000000 00 703e02 00 01 01 78 e0 505400fffe0e0001" + std::string(392, '0'),
        CmRep{.local_id = 0xba7e'bc70,
              .remote_id = 0x8867'7285,
              .qpn = Qpn{0x11},
              .psn = Psn{0x703e02},
              .responder_resources = 1,
              .initiator_depth = 1,
              .target_ack_delay = 15,
              .rnr_retry_count = 7,
              .ca_guid = Guid{0x5054'00ff'fe0e'0001}});
}

TEST(CmRep, GoldenOfTheRarerFields) {
    CmRep rep{
        .qkey = QKey{1}, .eecn = 0xabcdef, .failover_accepted = 2, .flow_control = true, .shared_receive_queue = true};
    rep.private_data.back() = std::byte{7};
    expect_golden("00000000 00000000 00000001 000000 00 abcdef 00 000000 00 00 00 05 10 0000000000000000" +
                      std::string(390, '0') + "07",
                  rep);
}

}  // namespace
}  // namespace verbline::wire

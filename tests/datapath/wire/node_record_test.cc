// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/node_record.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

// As OpenSM answers for a host of ibsim.
TEST(NodeRecord, Golden) {
    NodeRecord record{.lid = Lid{4},
                      .info = {.type = NodeType::channel_adapter,
                               .ports = 2,
                               .system_guid = Guid{0x10'0006},
                               .node_guid = Guid{0x10'0006},
                               .port_guid = Guid{0x10'0007},
                               .partition_cap = 64,
                               .revision = 0xa1,
                               .local_port = 1}};
    record.description[0] = std::byte{'H'};
    record.description[1] = std::byte{'3'};
    expect_golden(
        "0004 0000 01 01 01 02 0000000000100006 0000000000100006 0000000000100007 0040 0000 000000a1 01 000000 4833" +
            std::string(124, '0'),
        record);
    EXPECT_EQ(description(record), "H3");
}

TEST(NodeRecord, DescriptionMayFillItsField) {
    NodeRecord record;
    record.description.fill(std::byte{'x'});
    EXPECT_EQ(description(record), std::string(64, 'x'));
    EXPECT_EQ(description(NodeRecord{}), "");
}

}  // namespace
}  // namespace verbline::wire

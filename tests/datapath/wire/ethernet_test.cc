// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/ethernet.h"

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(Ethernet, Golden) {
    expect_golden("5254000e0001 5254000e0002 0800",
                  Ethernet{.destination = first_machine, .source = second_machine, .type = ether_type::ipv4});
}

TEST(Vlan, Golden) {
    expect_golden("b123 86dd", Vlan{.priority = 5, .drop_eligible = true, .id = 0x123, .type = ether_type::ipv6});
}

}  // namespace
}  // namespace verbline::wire

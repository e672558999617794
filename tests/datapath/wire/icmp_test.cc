// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/icmp.h"

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(Icmp, Golden) {
    expect_golden("0800 1234 abcd 0007",
                  Icmp{.type = icmp_type::echo, .checksum = 0x1234, .identifier = 0xabcd, .sequence = 7});
}

TEST(Icmp, GoldenOfFragmentationNeeded) {
    expect_golden(
        "0304 0000 0000 07fc",
        Icmp{.type = icmp_type::unreachable, .code = icmp_unreachable::fragmentation_needed, .sequence = 2044});
}

}  // namespace
}  // namespace verbline::wire

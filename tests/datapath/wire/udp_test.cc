// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/udp.h"

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(Udp, Golden) {
    expect_golden("e48c 12b7 0008 1234",
                  Udp{.source_port = 0xe48c, .destination_port = roce_v2_port, .length = 8, .checksum = 0x1234});
}

TEST(Udp, RefusesALengthBelowItsHeader) {
    EXPECT_EQ(Udp::parse(test::from_hex("e48c12b700070000 0000")).error(), Malformed::length);
}

TEST(Udp, RefusesALengthBeyondTheDatagram) {
    const auto bytes = test::from_hex("e48c12b7000a0000 0000");
    EXPECT_TRUE(Udp::parse(bytes));
    EXPECT_EQ(Udp::parse(Bytes(bytes).first(9)).error(), Malformed::truncated);
    EXPECT_TRUE(Udp::parse(Bytes(bytes).first(8), 10)) << "the rest is in other buffers";
}

}  // namespace
}  // namespace verbline::wire

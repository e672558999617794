// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/bth.h"

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

// A congestion notification packet as a ConnectX-4 Lx sends it.
TEST(Bth, GoldenOfACnp) {
    expect_golden("8100ffff 40000118 00000000",
                  Bth{.opcode = 0x81, .migrated = false, .becn = true, .dest = Qpn{0x118}});
}

// The first packet of an RDMA WRITE in the captures.
TEST(Bth, GoldenOfAWrite) {
    expect_golden("0a00ffff 00000011 80ec7427",
                  Bth{.opcode = 0x0a, .migrated = false, .dest = Qpn{0x11}, .ack_request = true, .psn = Psn{0xec7427}});
}

TEST(Bth, GoldenOfTheRarerFields) {
    expect_golden(
        "64f08001 80ffffff 00000000",
        Bth{.opcode = 0x64, .solicited = true, .pad = 3, .pkey = PKey{0x8001}, .fecn = true, .dest = Qpn{0xffffff}});
}

TEST(Bth, RefusesOtherVersions) {
    for (unsigned version = 1; version < 16; ++version) {
        auto bytes = test::from_hex("8100ffff 40000118 00000000");
        bytes[1] = static_cast<std::byte>(version);
        EXPECT_EQ(Bth::parse(bytes).error(), Malformed::version);
    }
}

}  // namespace
}  // namespace verbline::wire

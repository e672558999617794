// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/gre.h"

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(Gre, Golden) {
    expect_golden("0000 0800", Gre{.protocol = ether_type::ipv4});
    expect_golden("b000 6558",
                  Gre{.has_checksum = true, .has_key = true, .has_sequence = true, .protocol = bridged_ethernet});
}

TEST(Gre, CountsItsOptionalFields) {
    EXPECT_EQ(Gre{}.header_size(), 4u);
    EXPECT_EQ(Gre{.has_key = true}.header_size(), 8u);
    EXPECT_EQ((Gre{.has_checksum = true, .has_key = true, .has_sequence = true}).header_size(), 16u);
}

TEST(Gre, RefusesSourceRoutesAndOtherVersions) {
    EXPECT_EQ(Gre::parse(test::from_hex("4000 0800")).error(), Malformed::version);
    EXPECT_EQ(Gre::parse(test::from_hex("2001 880b")).error(), Malformed::version) << "PPTP's";
}

}  // namespace
}  // namespace verbline::wire

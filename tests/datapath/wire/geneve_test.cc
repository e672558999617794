// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/geneve.h"

#include <gtest/gtest.h>

#include "datapath/wire/ethernet.h"
#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(Geneve, Golden) {
    expect_golden(
        "0240 0800 1234 5600",
        Geneve{.option_words = 2, .critical_options = true, .protocol = ether_type::ipv4, .network = 0x123456});
    expect_golden("0080 6558 0000 0100", Geneve{.control = true, .protocol = EtherType{0x6558}, .network = 1});
}

TEST(Geneve, CountsItsOptions) {
    EXPECT_EQ(Geneve{}.header_size(), 8u);
    EXPECT_EQ(Geneve{.option_words = 63}.header_size(), 260u);
}

TEST(Geneve, RefusesAnotherVersion) {
    EXPECT_EQ(Geneve::parse(test::from_hex("4000 0800 1234 5600")).error(), Malformed::version);
}

}  // namespace
}  // namespace verbline::wire

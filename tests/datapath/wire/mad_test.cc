// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/mad.h"

#include <gtest/gtest.h>

#include "datapath/wire/sa.h"
#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

// The head of OpenSM's answer to a PathRecord query; the upper half of the transaction id is ibsim's.
TEST(Mad, Golden) {
    expect_golden("01 03 02 81 0000 0000 0001000000000002 0035 0000 00000000",
                  Mad{.management_class = MadClass::subnet_administration,
                      .class_version = sa_class_version,
                      .method = MadMethod::get_response,
                      .transaction = 0x0001'0000'0000'0002,
                      .attribute = static_cast<std::uint16_t>(SaAttribute::path_record)});
}

TEST(Mad, GoldenOfTheRarerFields) {
    expect_golden("01 81 01 01 8001 0203 0000000000000000 0015 0000 00000001",
                  Mad{.management_class = MadClass::subnet_directed_route,
                      .method = MadMethod::get,
                      .status = 0x8001,
                      .class_specific = 0x0203,
                      .attribute = static_cast<std::uint16_t>(AttributeId::port_info),
                      .modifier = 1});
}

TEST(Mad, RefusesOtherBaseVersions) {
    auto bytes = test::from_hex(emitted(Mad{}));
    bytes[0] = std::byte{0x80};
    EXPECT_EQ(Mad::parse(bytes).error(), Malformed::version);
}

TEST(MadPrefix, IsTheBeginningOfAMad) {
    auto bytes = test::from_hex(emitted(Mad{.management_class = MadClass::communication}));
    EXPECT_EQ(MadPrefix::parse(bytes)->management_class, MadClass::communication);
    bytes[0] = std::byte{0x80};
    EXPECT_EQ(MadPrefix::parse(bytes).error(), Malformed::version);
}

TEST(MadMethod, KnowsResponses) {
    EXPECT_TRUE(is_response(MadMethod::get_response));
    EXPECT_FALSE(is_response(MadMethod::set));
}

}  // namespace
}  // namespace verbline::wire

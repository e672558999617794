// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/pkey_table.h"

#include <array>

#include <gtest/gtest.h>

namespace verbline::wire {
namespace {

constexpr std::array table{PKey{0x7fff}, PKey{}, PKey{0x0001}, PKey{0x8001}, PKey{0x8002}};

TEST(PkeyTable, IsSearchedByPartition) {
    EXPECT_EQ(pkey_index(table, PKey{0xffff}), 0);
    EXPECT_EQ(pkey_index(table, PKey{0x0002}), 4);
    EXPECT_EQ(own_pkey(table, PKey{0xffff}), PKey{0x7fff}) << "of which the port is a limited member";
}

TEST(PkeyTable, GivesTheFullMembershipOfTwo) {
    EXPECT_EQ(pkey_index(table, PKey{0x8001}), 3);
    EXPECT_EQ(pkey_index(table, PKey{0x0001}), 3);
}

TEST(PkeyTable, LacksOtherPartitions) {
    EXPECT_EQ(pkey_index(table, PKey{0x8003}), std::nullopt);
    EXPECT_EQ(pkey_index(table, PKey{0x8000}), std::nullopt) << "an empty entry is no partition";
    EXPECT_EQ(pkey_index({}, PKey{0xffff}), std::nullopt);
    EXPECT_EQ(own_pkey(table, PKey{0x8003}), PKey{0x8003});
}

}  // namespace
}  // namespace verbline::wire

// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/bridge/forwarding_table.h"

#include <gtest/gtest.h>

namespace verbline::pmd {
namespace {

constexpr std::uint64_t alice = 0x020000000001, bob = 0x020000000002;

struct ForwardingTableTest : ::testing::Test {
    ForwardingTable table;
};

TEST_F(ForwardingTableTest, FindsWhereAnAddressWasLastSeen) {
    EXPECT_EQ(table.find(alice), std::nullopt);
    table.learn(alice, 3);
    table.learn(bob, 31);
    EXPECT_EQ(table.find(alice), 3u);
    EXPECT_EQ(table.find(bob), 31u);
    table.learn(alice, 0);
    EXPECT_EQ(table.find(alice), 0u);
    EXPECT_EQ(table.size(), 2u);
}

TEST_F(ForwardingTableTest, ExpiresSilentEntriesAndKeepsTheOthers) {
    table.expire(1000 * second);
    table.learn(alice, 1);
    table.learn(bob, 1);
    for (Time now = 1000 * second; now <= 1000 * second + ForwardingTable::max_age; now += 60 * second) {
        table.expire(now);
        table.learn(bob, 1);
    }
    EXPECT_EQ(table.find(alice), 1u) << "at the limit";
    table.expire(1001 * second + ForwardingTable::max_age);
    EXPECT_EQ(table.find(alice), std::nullopt);
    EXPECT_EQ(table.find(bob), 1u);
}

TEST_F(ForwardingTableTest, AgesAcrossTheWrapOfItsClock) {
    const Time wrap = 2048 * second;
    table.expire(wrap - second);
    table.learn(alice, 1);
    table.expire(wrap + 100 * second);
    EXPECT_EQ(table.find(alice), 1u);
    table.expire(wrap + 300 * second);
    EXPECT_EQ(table.find(alice), std::nullopt);
}

TEST_F(ForwardingTableTest, RemovesAMember) {
    table.learn(alice, 1);
    table.learn(bob, 2);
    table.forget(1);
    EXPECT_EQ(table.find(alice), std::nullopt);
    EXPECT_EQ(table.find(bob), 2u);
}

TEST_F(ForwardingTableTest, AFloodOfAddressesIsBoundedAndDoesNotPushOutTheFresh) {
    for (std::uint64_t i = 1; i <= 100'000; ++i) table.learn(0x040000000000 + i, 1);
    EXPECT_LE(table.size(), ForwardingTable::sets * ForwardingTable::ways);
    EXPECT_GT(table.size(), ForwardingTable::sets * ForwardingTable::ways * 9 / 10);
    table.expire(10 * second);
    table.learn(alice, 5);
    EXPECT_EQ(table.find(alice), 5u);
}

}  // namespace
}  // namespace verbline::pmd

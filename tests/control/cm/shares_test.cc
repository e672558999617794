// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/shares.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/control/cm/world.h"

namespace verbline::cm::test {
namespace {

std::vector<Shares::Slot> take_all(Shares& shares, const PortAddress& port) {
    std::vector<Shares::Slot> taken;
    while (const auto slot = shares.take(port)) taken.push_back(*slot);
    return taken;
}

PortAddress port(unsigned number) {
    return {.gid = gid_of(number)};
}

TEST(Shares, OnePortGetsHalf) {
    Shares shares(100, 1);
    EXPECT_EQ(take_all(shares, port(1)).size(), 50u);
    EXPECT_EQ(shares.taken(), 50u) << "those refused took none";
}

TEST(Shares, LaterPortsGetPartOfTheRemainder) {
    Shares shares(100, 1);
    take_all(shares, port(1));
    EXPECT_EQ(take_all(shares, port(2)).size(), 25u) << "as many as are still free then";
    EXPECT_EQ(take_all(shares, port(3)).size(), 13u);
    EXPECT_EQ(take_all(shares, port(1)).size(), 0u);
}

TEST(Shares, PlacesGivenBackAreFree) {
    Shares shares(4, 1);
    const auto taken = take_all(shares, port(1));
    ASSERT_EQ(taken.size(), 2u);
    shares.give_back(taken.front());
    EXPECT_EQ(shares.taken(), 1u);
    EXPECT_TRUE(shares.take(port(1)));
    EXPECT_FALSE(shares.take(port(1)));
}

TEST(Shares, PortsWithoutAGidAreDistinguishedByLid) {
    Shares shares(4, 1);
    EXPECT_EQ(take_all(shares, {.lid = wire::Lid{1}}).size(), 2u);
    EXPECT_TRUE(shares.take({.lid = wire::Lid{2}}));
}

TEST(Shares, CapacityMayBeZero) {
    Shares shares(0, 1);
    EXPECT_FALSE(shares.take(port(1)));
    EXPECT_EQ(shares.taken(), 0u);
}

}  // namespace
}  // namespace verbline::cm::test

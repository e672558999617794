// SPDX-License-Identifier: BSD-3-Clause
#include "control/hub/port_table.h"

#include <gtest/gtest.h>

#include "tests/control/hub/address.h"

namespace verbline::hub {
namespace {

using rdmacm::SocketAddress;

constexpr LaneId one{1}, two{2}, three{3};
constexpr PortNumber port{0x0106, 7174};

const auto at1 = address("10.0.0.1/24").gid, at2 = address("10.0.0.2/24").gid;
const PortUse any, first{.address = at1}, second{.address = at2}, reusing{.reuse = true};

TEST(PortTableTest, LanesOfANodeShareANumberByAddress) {
    PortTable table(true);
    EXPECT_TRUE(table.reserve(one, port, first));
    EXPECT_TRUE(table.reserve(two, port, second));
    EXPECT_EQ(table.reserve(three, port, any), std::unexpected(one)) << "in the way of both";
    EXPECT_EQ(table.reserve(three, port, second), std::unexpected(two));
    EXPECT_TRUE(table.reserve(three, {0x0111, 7174}, any)) << "another space";
    table.leave(one);
    EXPECT_TRUE(table.reserve(three, port, first)) << "free at once";
}

TEST(PortTableTest, LanesOfAHubAreHostsOfTheirOwn) {
    PortTable table(false);
    EXPECT_TRUE(table.reserve(one, port, any));
    EXPECT_TRUE(table.reserve(two, port, any));
    EXPECT_EQ(table.reserve(two, port, first), std::unexpected(two)) << "with itself it conflicts";
}

TEST(PortTableTest, ReuseEndsWithAListener) {
    PortTable table(true);
    EXPECT_TRUE(table.reserve(one, port, reusing));
    EXPECT_TRUE(table.reserve(one, port, reusing)) << "also of one lane";
    EXPECT_TRUE(table.reserve(two, port, reusing));
    EXPECT_EQ(table.change(two, port, reusing, reusing.as_listener()), std::unexpected(one));
    EXPECT_TRUE(table.release(one, port, reusing));
    EXPECT_EQ(table.change(two, port, reusing, reusing.as_listener()), std::unexpected(one)) << "one is left";
    EXPECT_TRUE(table.release(one, port, reusing));
    EXPECT_FALSE(table.release(one, port, reusing));
    EXPECT_TRUE(table.change(two, port, reusing, reusing.as_listener()));
    EXPECT_EQ(table.reserve(one, port, reusing), std::unexpected(two));
}

TEST(PortTableTest, ASecondListenerOfAnAddressIsRefused) {
    PortTable table(true);
    EXPECT_TRUE(table.reserve(one, port, first.as_listener()));
    EXPECT_EQ(table.reserve(two, port, first.as_listener()), std::unexpected(one));
    EXPECT_TRUE(table.reserve(two, port, second.as_listener()));
}

TEST(PortTableTest, WhatALaneDoesNotHaveItCannotChange) {
    PortTable table(true);
    EXPECT_EQ(table.change(one, port, any, first), std::unexpected(std::nullopt));
    EXPECT_TRUE(table.reserve(two, port, any));
    EXPECT_EQ(table.change(one, port, any, first), std::unexpected(std::nullopt)) << "another's";
    EXPECT_FALSE(table.release(one, port, any));
    EXPECT_TRUE(table.change(two, port, any, first));
    EXPECT_TRUE(table.release(two, port, first));
    EXPECT_FALSE(table.used(port));
}

TEST(PortTableTest, ARequestIsForTheListenerThatItSuitsBest) {
    PortTable table(true);
    const PortUse six{.family = rdmacm::Family::ipv6};
    const auto to = [&](const wire::Gid& gid) { return table.holder(port, SocketAddress{.gid = gid}); };
    EXPECT_EQ(to(at1), std::nullopt);
    EXPECT_TRUE(table.reserve(three, port, {.address = at1}));
    EXPECT_EQ(to(at1), three);
    EXPECT_EQ(to(at2), std::nullopt);
    table.leave(three);
    EXPECT_TRUE(table.reserve(three, port, six.as_listener()));
    EXPECT_TRUE(table.reserve(one, port, first.as_listener()));
    EXPECT_TRUE(table.reserve(two, port, second));
    EXPECT_EQ(to(at1), one);
    EXPECT_EQ(to(at2), two) << "bound only: it may listen in a moment";
    EXPECT_EQ(table.holder(port, std::nullopt), three) << "by its service id: the first";
}

}  // namespace
}  // namespace verbline::hub

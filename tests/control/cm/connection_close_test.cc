// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "control/cm/manager.h"
#include "tests/control/cm/connected.h"

namespace verbline::cm::test {
namespace {

using enum wire::CmAttribute;

TEST(Disconnect, LeavesNothingBehind) {
    Connected c;
    EXPECT_TRUE(c.active->disconnect({}, c.world.now));
    EXPECT_EQ(c.world.deliver_one(), dreq);
    EXPECT_TRUE(next<DisconnectRequested>(*c.passive, c.world.now));
    EXPECT_TRUE(c.passive->disconnect({}, c.world.now)) << "it is what the user wants, and done";
    EXPECT_EQ(c.world.deliver_one(), drep);
    EXPECT_TRUE(next<Disconnected>(*c.active, c.world.now));
    EXPECT_EQ(c.active->state(), ConnectionState::timewait);
    c.world.pass(10 * second);
    EXPECT_TRUE(next<TimewaitExited>(*c.active, c.world.now));
    EXPECT_TRUE(next<TimewaitExited>(*c.passive, c.world.now));
    c.active.reset();
    c.passive.reset();
    c.listener.reset();
    EXPECT_EQ(c.world.manager(0).size(), 0u);
    EXPECT_EQ(c.world.manager(1).size(), 0u);
    EXPECT_FALSE(c.world.manager(0).deadline());
}

TEST(Disconnect, IsRepeatedWhenAskedFor) {
    Connected c;
    c.world.manager(0).repeat_disconnects(c.world.now);
    EXPECT_TRUE(c.world.flights.empty()) << "nothing is being disconnected";
    EXPECT_TRUE(c.active->disconnect({}, c.world.now));
    c.world.flights.clear();  // lost
    const auto deadline = c.world.manager(0).deadline();
    for (int times = 0; times < 40; ++times) {
        c.world.manager(0).repeat_disconnects(c.world.now);
        ASSERT_EQ(c.world.flights.size(), 1u);
        if (times < 39) c.world.flights.clear();
    }
    EXPECT_EQ(c.world.manager(0).deadline(), deadline);
    EXPECT_EQ(c.world.deliver_one(), dreq);
    EXPECT_TRUE(next<DisconnectRequested>(*c.passive, c.world.now));
    EXPECT_EQ(c.world.deliver_one(), drep);
    EXPECT_TRUE(next<Disconnected>(*c.active, c.world.now));
    c.world.manager(0).repeat_disconnects(c.world.now);
    EXPECT_TRUE(c.world.flights.empty());
}

TEST(Disconnect, OfBothEndsIsAnsweredByBoth) {
    Connected c;
    EXPECT_TRUE(c.active->disconnect({}, c.world.now));
    EXPECT_TRUE(c.passive->disconnect({}, c.world.now));
    EXPECT_EQ(c.world.deliver_one(), dreq);
    EXPECT_EQ(c.world.deliver_one(), dreq);
    EXPECT_TRUE(next<Disconnected>(*c.active, c.world.now));
    EXPECT_TRUE(next<Disconnected>(*c.passive, c.world.now));
    EXPECT_EQ(c.world.deliver_one(), drep);
    EXPECT_EQ(c.world.deliver_one(), drep);
    EXPECT_FALSE(c.active->poll(c.world.now));
    EXPECT_FALSE(c.passive->poll(c.world.now));
}

TEST(Disconnect, FollowsADroppedEndpointInTheBackground) {
    Connected c;
    c.active.reset();
    EXPECT_EQ(c.world.flights.front().attribute(), dreq);
    c.world.flights.clear();
    c.world.pass(10 * second);
    EXPECT_EQ(c.world.deliver_one(), dreq) << "repeated";
    EXPECT_EQ(c.world.counter(0, "retries_dreq"), 1u);
    EXPECT_TRUE(next<DisconnectRequested>(*c.passive, c.world.now));
    c.world.deliver_all();
    c.world.pass(10 * second);
    EXPECT_EQ(c.world.manager(0).size(), 0u);
}

}  // namespace
}  // namespace verbline::cm::test

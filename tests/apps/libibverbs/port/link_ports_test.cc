// SPDX-License-Identifier: BSD-3-Clause
// Links without a hub. Two of these in one program are as strange to each other as two programs are.
#include "apps/libibverbs/port/link_ports.h"

#include <cerrno>

#include <unistd.h>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/wire/bytes.h"

namespace verbline::verbs {
namespace {

constexpr std::uint16_t tcp = 0x0106;

struct LinkPortsTest : ::testing::Test {
    LinkPortsTest() {
        link.mac = {{std::byte{2}, std::byte{0x78}}};
        wire::store32(link.mac.bytes, 2, static_cast<std::uint32_t>(getpid()));  // nobody else's
        link.interface = "eth0";
    }
    OpenedLink link;
    std::mutex mutex;
    LinkPorts first{link, mutex}, second{link, mutex};
};

TEST_F(LinkPortsTest, OnAnInterfaceAnotherProgramMayHaveAPort) {
    EXPECT_FALSE(second.elsewhere(tcp, 7174)) << "nobody has reserved anything";
    EXPECT_EQ(first.reserve(tcp, 7174), 7174);
    EXPECT_TRUE(second.elsewhere(tcp, 7174));
    EXPECT_FALSE(first.elsewhere(tcp, 7174)) << "its own";
    EXPECT_EQ(second.reserve(tcp, 7174).error().code, EADDRINUSE);
    EXPECT_TRUE(first.release(tcp, 7174));
    EXPECT_FALSE(second.elsewhere(tcp, 7174));
}

TEST_F(LinkPortsTest, UsesOfOneProgramShareANumber) {
    const PortUse at1{.address = link::gid_of(wire::ipv4(10, 0, 0, 1))},
        at2{.address = link::gid_of(wire::ipv4(10, 0, 0, 2))};
    EXPECT_EQ(first.reserve(tcp, 7174, at1), 7174);
    EXPECT_EQ(first.reserve(tcp, 7174, at2), 7174);
    EXPECT_EQ(first.reserve(tcp, 7174).error().code, EADDRINUSE);
    EXPECT_EQ(first.rebind(tcp, 7174, at2, at1).error().code, EADDRINUSE);
    EXPECT_EQ(first.rebind(tcp, 7174, {}, at1).error().code, ENOENT);
    EXPECT_TRUE(first.rebind(tcp, 7174, at2, at2.as_listener()));
    EXPECT_EQ(second.reserve(tcp, 7174, at1).error().code, EADDRINUSE) << "another program";
    EXPECT_TRUE(first.release(tcp, 7174, at1));
    EXPECT_TRUE(second.elsewhere(tcp, 7174)) << "one is left";
    EXPECT_EQ(first.release(tcp, 7174, at2).error().code, ENOENT);
    EXPECT_TRUE(first.release(tcp, 7174, at2.as_listener()));
    EXPECT_FALSE(second.elsewhere(tcp, 7174));
}

TEST_F(LinkPortsTest, ALinkOfOursAloneIsSharedWithNobody) {
    link.interface.clear();
    EXPECT_EQ(first.reserve(tcp, 7174), 7174);
    EXPECT_FALSE(second.elsewhere(tcp, 7174));
}

TEST_F(LinkPortsTest, WhatIsNotReservedCannotBeReleased) {
    EXPECT_EQ(first.release(tcp, 7174).error().code, ENOENT);
}

}  // namespace
}  // namespace verbline::verbs

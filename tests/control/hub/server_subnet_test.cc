// SPDX-License-Identifier: BSD-3-Clause
// What members ask of a node's subnet over the real sockets: who is asked, and who is told.
#include <cerrno>
#include <string>
#include <vector>

#include <poll.h>

#include "control/hub/subnet_host.h"
#include "tests/control/hub/address.h"
#include "tests/control/hub/server_fixture.h"

namespace verbline::hub {
namespace {

const wire::Gid far = address("fe80::10:3/64").gid, mgid = address("fd00::7/64").gid;

/// Writes down what it is asked, as `path 1`.
struct SubnetLog : SubnetHost {
    SubnetPort port() const override { return {.facts = {.lid = lid, .mtu = 2048}, .broadcast = std::nullopt}; }
    bool has_address(const PortUse& use) const override { return use.address == far; }
    void find(LaneId member, const FindNeighbour&) override { say("neighbour", member); }
    void find(LaneId member, const FindPath&) override { say("path", member); }
    void join(LaneId member, const JoinSubnetGroup&) override { say("join", member); }
    void leave(LaneId member, const LeaveSubnetGroup&) override { say("leave", member); }
    void forget(LaneId member) override { say("forget", member); }
    void say(const char* what, LaneId member) {
        asked.push_back(std::string(what) + " " + std::to_string(std::to_underlying(member)));
    }

    wire::Lid lid{3};
    std::vector<std::string> asked;
};

struct SubnetFakeHost : FakeHost {
    SubnetHost* subnet() override { return &log; }
    SubnetLog log;
};

struct SubnetServerTest : NodeTest {
    void SetUp() override { serve({.subnets = {}, .node = identity(), .last_member = 0}, host); }
    /// What the node has been asked since the last call, at least `count` things.
    std::vector<std::string> asked(std::size_t count) {
        std::vector<std::string> all;
        while (all.size() < count) on_server([&] { all = host.log.asked; });
        on_server([&] { host.log.asked.clear(); });
        return all;
    }
    static SubnetNews told(const Lane& lane) {
        pollfd arrival{.fd = lane.control.get(), .events = POLLIN, .revents = 0};
        EXPECT_EQ(poll(&arrival, 1, 10'000), 1);
        return take_subnet_news(lane);
    }

    SubnetFakeHost host;
};

TEST_F(SubnetServerTest, AMemberBindsAddressesOfTheSubnet) {
    const auto lane = join();
    const PortUse gid{.family = rdmacm::Family::ib, .address = far, .only_its_family = false};
    EXPECT_EQ(reserve_port(lane, 0x013f, 7174, gid), 7174);
    const PortUse foreign{.family = rdmacm::Family::ib, .address = mgid};
    EXPECT_EQ(reserve_port(lane, 0x013f, 7175, foreign).error().code, EADDRNOTAVAIL);
}

TEST_F(SubnetServerTest, AMemberIsToldOfThePort) {
    const auto lane = join();
    const auto port = ask_subnet_port(lane);
    ASSERT_TRUE(port && *port);
    EXPECT_EQ((*port)->facts.lid, wire::Lid{3});
    on_server([&] {
        host.log.lid = wire::Lid{4};
        server->tell_subnet_port();
    });
    const auto news = told(lane);
    ASSERT_TRUE(news.port);
    EXPECT_EQ(news.port->facts.lid, wire::Lid{4});
}

TEST_F(SubnetServerTest, SoIsWhoHasNotJoined) {
    const auto port = ask_subnet_port(name);
    ASSERT_TRUE(port && *port);
    EXPECT_EQ((*port)->facts.lid, wire::Lid{3});
    on_server([&] { EXPECT_TRUE(server->registry().tenants().empty()); });
    EXPECT_EQ(ask_subnet_port("nobody").error().code, ENOENT);
}

TEST_F(SubnetServerTest, WhatAMemberAsksReachesTheSubnet) {
    const auto one = join(), two = join();
    EXPECT_TRUE(ask_subnet(one, FindPath{far, wire::PKey{0xffff}}));
    EXPECT_TRUE(ask_subnet(one, FindNeighbour{far}));
    EXPECT_TRUE(ask_subnet(one, JoinSubnetGroup{.mgid = mgid, .user = 1}));
    EXPECT_TRUE(ask_subnet(one, LeaveSubnetGroup{mgid, 1}));
    EXPECT_EQ(asked(4), (std::vector<std::string>{"path 1", "neighbour 1", "join 1", "leave 1"}));
    EXPECT_TRUE(ask_subnet(two, FindPath{far, wire::PKey{0xffff}}));
    EXPECT_EQ(asked(1), std::vector<std::string>{"path 2"});
}

TEST_F(SubnetServerTest, OnlyWhoHasAskedIsTold) {
    const auto one = join(), two = join();
    on_server([&] { server->tell_subnet(LaneId{2}, PathFound{far, wire::PKey{0xffff}, {}, ETIMEDOUT}); });
    const auto news = told(two);
    ASSERT_EQ(news.paths.size(), 1u);
    EXPECT_EQ(news.paths[0].code, ETIMEDOUT);
    EXPECT_TRUE(take_subnet_news(one).paths.empty());
}

TEST_F(SubnetServerTest, AMemberThatEndsIsForgotten) {
    { const auto lane = join(); }
    EXPECT_EQ(asked(1), std::vector<std::string>{"forget 1"});
}

struct EthernetServerTest : NodeTest {
    void SetUp() override { serve({.subnets = {}, .node = identity()}, host); }
    FakeHost host;
};

TEST_F(EthernetServerTest, HasNoSubnet) {
    const auto lane = join();
    const auto port = ask_subnet_port(lane);
    ASSERT_TRUE(port);
    EXPECT_FALSE(*port);
    EXPECT_FALSE(ask_subnet_port(name).value());
    ask_subnet(lane, FindNeighbour{far});
    pollfd end{.fd = lane.control.get(), .events = POLLRDHUP, .revents = 0};
    EXPECT_EQ(poll(&end, 1, 10'000), 1) << "who asks nevertheless is disconnected";
}

}  // namespace
}  // namespace verbline::hub

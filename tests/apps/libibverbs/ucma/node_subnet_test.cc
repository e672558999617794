// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/ucma/node_subnet.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/apps/libibverbs/port/played_server.h"

namespace verbline::verbs {
namespace {

using Ticket = Subnet::Ticket;

wire::Gid gid(unsigned last) {
    return wire::Gid::of(wire::default_subnet_prefix, wire::Guid{last});
}
sa::Group group_with(unsigned mlid) {
    return {.mlid = wire::Lid{static_cast<std::uint16_t>(0xc000 + mlid)}, .mtu = wire::IbMtu::bytes_2048};
}

/// The test is the node.
struct NodeSubnetTest : ::testing::Test {
    NodeSubnetTest() {
        link.lane.member = link::MemberId{5};
        link.fabric = {.lid = wire::Lid{3}, .guid = wire::Guid{3}};
        link.broadcast = group_with(0);
        subnet.emplace(
            name, link, asker, *loop,
            Subnet::Handlers{
                .neighbour = [this](Ticket ticket, const auto& found) { neighbours[ticket] = found; },
                .path = [this](Ticket ticket, const auto& found) { paths[ticket] = found; },
                .group = [this](Ticket ticket, const auto&, const auto& group) { groups[ticket].push_back(group); },
                .broadcast = [this](const sa::Group& group) { broadcast.push_back(group); }});
    }
    template <class Done>
    bool until(const Done& done) {
        for (const Time end = loop->now() + 10 * second; !done() && loop->now() < end;)
            loop->run_once(10 * millisecond);
        return done();
    }
    std::uint64_t counter(std::string_view wanted) const {
        std::uint64_t found = 0;
        subnet->counters([&](auto each, auto value, auto) {
            if (each == wanted) found = value;
        });
        return found;
    }

    const std::string name = "verbline0";
    OpenedLink link;
    test::PlayedServer node{link.lane};
    std::mutex mutex;
    std::vector<mad::PortFacts> ports;  ///< as the port's owner is told
    LinkSubnet asker{link, mutex, [this](const hub::SubnetPort& now) { ports.push_back(now.facts); }};
    std::unique_ptr<control::Loop> loop = std::move(*control::Loop::create());
    std::map<Ticket, Result<wire::Gid>> neighbours;
    std::map<Ticket, Result<wire::PathRecord>> paths;
    std::map<Ticket, std::vector<Result<sa::Group>>> groups;
    std::vector<sa::Group> broadcast;
    std::optional<NodeSubnet> subnet;
};

TEST_F(NodeSubnetTest, TheBroadcastGroupIsKnownFromTheStart) {
    EXPECT_EQ(broadcast, std::vector{group_with(0)});
    node.say(hub::SubnetPort{.facts = link.fabric, .broadcast = group_with(1)});
    EXPECT_TRUE(until([&] { return broadcast.size() == 2; }));
    EXPECT_EQ(broadcast.back(), group_with(1));
}

TEST_F(NodeSubnetTest, AnotherLidOrGidOfThePortIsLeftToItsOwner) {
    auto facts = link.fabric;
    facts.lid = wire::Lid{9};
    node.say(hub::SubnetPort{.facts = facts, .broadcast = {}});
    EXPECT_TRUE(until([&] { return ports.size() == 1; }));
    EXPECT_EQ(ports.back().lid, wire::Lid{9});
    facts.subnet_prefix = 0xfec0'0000'0000'0001;
    node.say(hub::SubnetPort{.facts = facts, .broadcast = {}});
    EXPECT_TRUE(until([&] { return ports.size() == 2; }));
    EXPECT_EQ(ports.back().gid(), facts.gid());
}

TEST_F(NodeSubnetTest, AnAnswerIsForAllWhoHaveAsked) {
    subnet->find_path(1, gid(7), wire::PKey{0xffff});
    subnet->find_path(2, gid(7), wire::PKey{0xffff});
    subnet->find_path(3, gid(8), wire::PKey{0xffff});
    subnet->find_neighbour(4, gid(7), wire::PKey{0xffff});
    EXPECT_EQ(node.heard().size(), 4u);
    node.say(hub::PathFound{gid(7), wire::PKey{0xffff}, {.destination_lid = wire::Lid{7}}, 0});
    node.say(hub::NeighbourFound{gid(7), {}, EHOSTUNREACH});
    ASSERT_TRUE(until([&] { return paths.size() == 2 && neighbours.size() == 1; }));
    EXPECT_EQ(paths.at(1)->destination_lid, wire::Lid{7});
    EXPECT_EQ(paths.at(2)->destination_lid, wire::Lid{7});
    EXPECT_EQ(neighbours.at(4).error().code, EHOSTUNREACH);
}

TEST_F(NodeSubnetTest, WhatIsWithdrawnIsNotAnswered) {
    subnet->find_path(1, gid(7), wire::PKey{0xffff});
    subnet->find_path(2, gid(8), wire::PKey{0xffff});
    subnet->cancel(1);
    node.say(hub::PathFound{gid(7), wire::PKey{0xffff}, {}, 0});
    node.say(hub::PathFound{gid(8), wire::PKey{0xffff}, {}, ETIMEDOUT});
    ASSERT_TRUE(until([&] { return paths.contains(2); }));
    EXPECT_FALSE(paths.contains(1));
}

TEST_F(NodeSubnetTest, GroupsAreJoinedAndLeftByUser) {
    subnet->join(1, {.mgid = gid(1), .send_only = true});
    subnet->join(2, {.mgid = gid(1), .qkey = wire::QKey{7}, .pkey = wire::PKey{0x8001}});
    const hub::JoinSubnetGroup second{.mgid = gid(1), .user = 2, .pkey = wire::PKey{0x8001}, .qkey = wire::QKey{7}};
    EXPECT_EQ(node.heard(),
              (std::vector<hub::Message>{hub::JoinSubnetGroup{.mgid = gid(1), .user = 1, .send_only = true}, second}));
    node.say(hub::SubnetGroup{gid(1), 1, group_with(5), 0});
    node.say(hub::SubnetGroup{gid(1), 1, group_with(6), 0});
    node.say(hub::SubnetGroup{gid(1), 2, {}, EINVAL});
    ASSERT_TRUE(until([&] { return groups[1].size() == 2 && groups[2].size() == 1; }));
    EXPECT_EQ(*groups[1][1], group_with(6)) << "its record has changed";
    EXPECT_EQ(groups[2][0].error().code, EINVAL);
    subnet->leave(1, gid(1));
    subnet->leave(2, gid(1));  // it is not in
    EXPECT_EQ(node.heard(), std::vector<hub::Message>{(hub::LeaveSubnetGroup{gid(1), 1})});
}

TEST_F(NodeSubnetTest, AJoinThatIsWithdrawnIsLeft) {
    subnet->join(1, {.mgid = gid(1)});
    subnet->cancel(1);
    EXPECT_EQ(node.heard().back(), hub::Message(hub::LeaveSubnetGroup{gid(1), 1}));
    node.say(hub::SubnetGroup{gid(1), 1, group_with(5), 0});
    node.say(hub::SubnetPort{.facts = link.fabric, .broadcast = group_with(1)});
    ASSERT_TRUE(until([&] { return broadcast.size() == 2; }));
    EXPECT_TRUE(groups.empty());
}

TEST_F(NodeSubnetTest, WhatTheNodeDoesNotAnswerIsAskedAgain) {
    subnet->find_neighbour(1, gid(7), wire::PKey{0x8001});
    EXPECT_EQ(node.heard().size(), 1u);
    ASSERT_TRUE(until([&] { return counter("subnet_questions_again") == 1; }));
    EXPECT_EQ(node.heard(), (std::vector<hub::Message>{hub::FindNeighbour{gid(7), wire::PKey{0x8001}}}));
}

TEST_F(NodeSubnetTest, ANodeThatHasReturnedKnowsTheGroupsAgain) {
    subnet->join(1, {.mgid = gid(1)});
    subnet->join(2, {.mgid = gid(2)});
    subnet->leave(1, gid(1));
    node.heard();
    auto returned = link.fabric;
    returned.pkeys = {wire::PKey{0xffff}, wire::PKey{0x8001}};
    node.say(hub::SubnetPort{.facts = returned, .broadcast = {}});
    node.say(hub::Done{});
    asker.restore();
    EXPECT_EQ(node.heard(),
              (std::vector<hub::Message>{hub::AskSubnetPort{}, hub::JoinSubnetGroup{.mgid = gid(2), .user = 2}}));
    asker.look();
    EXPECT_EQ(ports, std::vector{returned}) << "its port may be another meanwhile";
}

TEST_F(NodeSubnetTest, ThePortIsToldToItsOwnerWhoeverLooks) {
    auto changed = link.fabric;
    changed.pkeys = {wire::PKey{0x7fff}};
    node.say(hub::SubnetPort{.facts = changed, .broadcast = group_with(1)});
    asker.look();
    EXPECT_EQ(ports, std::vector{changed});
    EXPECT_TRUE(until([&] { return broadcast.size() == 2; })) << "who asks for all has not missed it";
    changed.pkeys.push_back(wire::PKey{0x8001});
    node.say(hub::SubnetPort{.facts = changed, .broadcast = group_with(2)});
    EXPECT_TRUE(until([&] { return broadcast.size() == 3; }));
    EXPECT_EQ(ports.size(), 2u);
    EXPECT_EQ(ports.back(), changed);
}

}  // namespace
}  // namespace verbline::verbs

// SPDX-License-Identifier: BSD-3-Clause
// Two nodes of a simulated fabric with a real OpenSM; the frames between them are carried by the test.
#include "control/node/subnet_service.h"

#include <cerrno>
#include <deque>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "control/mad/open.h"
#include "datapath/link/arrival.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/ipoib.h"
#include "tests/support/fabric.h"
#include "tests/support/link_frame.h"

namespace verbline::node {
namespace {

using hub::LaneId;
using wire::ipv4;

constexpr LaneId first_lane{1}, second_lane{2};
constexpr wire::PKey pkey{0xffff};

struct SubnetServiceTest : ::testing::Test {
    struct Node {
        std::unique_ptr<mad::Transport> transport;
        std::unique_ptr<SubnetService> subnet;
        std::map<LaneId, std::vector<hub::Message>> told;
        std::map<wire::Gid, wire::Lid> link_groups;
        int changes = 0, moves = 0;
    };

    std::unique_ptr<Node> open(const char* host, wire::Ipv4Address address,
                               const std::vector<link::InterfaceAddress>& others = {}) {
        auto made = std::make_unique<Node>();
        made->transport = std::move(*mad::open(fabric.spec(host), *loop));
        std::vector<link::InterfaceAddress> addresses{{link::gid_of(address), 24}};
        addresses.insert(addresses.end(), others.begin(), others.end());
        made->subnet = std::make_unique<SubnetService>(
            *made->transport, *loop,
            SubnetService::Setup{
                .addresses = addresses,
                .send =
                    [this](wire::Bytes frame) {
                        sent.emplace_back(frame.begin(), frame.end());
                        return true;
                    },
                .join_link =
                    [node = made.get()](const wire::Gid& mgid, wire::Lid mlid) {
                        node->link_groups[mgid] = mlid;
                        return Result<void>();
                    },
                .tell = [node = made.get()](LaneId member,
                                            const hub::Message& what) { node->told[member].push_back(what); },
                .changed = [node = made.get()] { ++node->changes; },
                .moved = [node = made.get()] { ++node->moves; }});
        return made;
    }
    /// Unicast by LID, groups to all.
    void carry() {
        for (; !sent.empty(); sent.pop_front()) {
            const auto arrival = test::open_frame(sent.front());
            ASSERT_TRUE(arrival);
            const auto to = link::destination_lid(sent.front(), *arrival);
            for (auto* const node : {h2.get(), h3.get()}) {
                if (wire::is_multicast(to) || to == node->transport->port().lid) node->subnet->received(sent.front());
            }
        }
    }
    template <class Done>
    bool until(const Done& done) {
        for (const Time end = loop->now() + 20 * second; !done() && loop->now() < end;) {
            loop->run_once(5 * millisecond);
            carry();
        }
        return done();
    }
    /// The next message that a member is told, which must be of this kind.
    template <class Kind>
    Kind next(Node& node, LaneId member) {
        auto& told = node.told[member];
        if (!until([&] { return !told.empty(); })) {
            ADD_FAILURE() << "nothing is said";
            return {};
        }
        const auto first = told.front();
        told.erase(told.begin());
        EXPECT_TRUE(std::holds_alternative<Kind>(first)) << first.index();
        return std::holds_alternative<Kind>(first) ? std::get<Kind>(first) : Kind{};
    }
    void await_broadcast() {
        ASSERT_TRUE(until([&] { return h2->subnet->port().broadcast && h3->subnet->port().broadcast; }));
    }
    static std::uint64_t counter(const Node& node, std::string_view name) {
        std::uint64_t found = 0;
        node.subnet->counters([&](auto each, auto value, auto) {
            if (each == name) found = value;
        });
        return found;
    }
    bool is_member(const Node& node, const wire::Gid& mgid) const {
        return std::ranges::any_of(node.subnet->agent().groups().show(),
                                   [&](const auto& shown) { return shown.mgid == mgid && shown.held != 0; });
    }

    test::Fabric fabric{test::star(3)};
    std::unique_ptr<control::Loop> loop = std::move(*control::Loop::create());
    std::deque<std::vector<std::byte>> sent;
    std::unique_ptr<Node> h2 = open("H2", ipv4(10, 7, 0, 2)), h3 = open("H3", ipv4(10, 7, 0, 3));
    const wire::Gid gid_2 = h2->transport->port().gid(), gid_3 = h3->transport->port().gid();
    const wire::Gid mgid = wire::ipoib_multicast_mgid(ipv4(239, 7, 7, 7), pkey);
};

TEST_F(SubnetServiceTest, ThePortHasItsGidAndALinkLocalAddress) {
    using rdmacm::Family;
    const auto gid = h2->transport->port().gid(), other = h3->transport->port().gid();
    const auto has = [&](Family family, const wire::Gid& address) {
        return h2->subnet->has_address({.family = family, .address = address});
    };
    EXPECT_TRUE(has(Family::ib, gid));
    EXPECT_TRUE(has(Family::ipv6, ipoib::ipv6_link_local_of(gid)));
    EXPECT_FALSE(has(Family::ib, other));
    EXPECT_FALSE(has(Family::ipv6, ipoib::ipv6_link_local_of(other)));
    EXPECT_FALSE(has(Family::ipv4, gid));
}

TEST_F(SubnetServiceTest, IsInIpoibsGroups) {
    await_broadcast();
    EXPECT_GE(h2->changes, 1);
    EXPECT_EQ(h2->link_groups.at(wire::ipoib_broadcast_mgid(pkey)), h2->subnet->port().broadcast->mlid);
}

TEST_F(SubnetServiceTest, ResolvesAddressesForItsMembers) {
    await_broadcast();
    h2->subnet->find(first_lane, hub::FindNeighbour{link::gid_of(ipv4(10, 7, 0, 3))});
    const auto found = next<hub::NeighbourFound>(*h2, first_lane);
    EXPECT_EQ(found.code, 0);
    EXPECT_EQ(found.gid, gid_3);
    h2->subnet->find(second_lane, hub::FindNeighbour{link::gid_of(ipv4(10, 7, 0, 2))});
    EXPECT_EQ(next<hub::NeighbourFound>(*h2, second_lane).gid, gid_2) << "its own";
    h2->subnet->find(first_lane, hub::FindNeighbour{link::gid_of(ipv4(10, 7, 0, 99))});
    EXPECT_EQ(next<hub::NeighbourFound>(*h2, first_lane).code, EHOSTUNREACH);
}

TEST_F(SubnetServiceTest, AsksForAPathOnceForAll) {
    for (const auto member : {first_lane, second_lane, first_lane})
        h2->subnet->find(member, hub::FindPath{gid_3, pkey});
    for (const auto member : {first_lane, second_lane, first_lane}) {
        const auto found = next<hub::PathFound>(*h2, member);
        EXPECT_EQ(found.code, 0);
        EXPECT_EQ(found.path.destination_lid, h3->transport->port().lid);
    }
    EXPECT_EQ(h2->subnet->agent().paths().cache().counters().queries.value(), 1u);
    h2->subnet->find(second_lane, hub::FindPath{gid_3, pkey});
    EXPECT_EQ(h2->told[second_lane].size(), 1u) << "at once";
    h2->told.clear();
    h2->subnet->find(first_lane, hub::FindPath{wire::Gid::of(wire::default_subnet_prefix, wire::Guid{0xdead}), pkey});
    EXPECT_EQ(next<hub::PathFound>(*h2, first_lane).code, EHOSTUNREACH);
}

TEST_F(SubnetServiceTest, IsAMemberAsLongAsOneOfItsUsersIs) {
    await_broadcast();
    h2->subnet->join(first_lane, {.mgid = mgid, .user = 1});
    h2->subnet->join(first_lane, {.mgid = mgid, .user = 2});
    h2->subnet->join(second_lane, {.mgid = mgid, .user = 1});
    const auto granted = next<hub::SubnetGroup>(*h2, first_lane);
    EXPECT_EQ(granted.code, 0);
    EXPECT_TRUE(wire::is_multicast(granted.group.mlid));
    EXPECT_EQ(next<hub::SubnetGroup>(*h2, first_lane).group, granted.group);
    EXPECT_EQ(next<hub::SubnetGroup>(*h2, second_lane).group, granted.group);
    h2->subnet->forget(first_lane);
    ASSERT_TRUE(until([&] { return is_member(*h2, mgid); }));
    h2->subnet->leave(second_lane, {mgid, 1});
    EXPECT_TRUE(until([&] { return !is_member(*h2, mgid); }));
    h2->subnet->leave(second_lane, {mgid, 1});  // once more: nothing
}

TEST_F(SubnetServiceTest, RefusalsAreSaid) {
    await_broadcast();
    h3->subnet->join(first_lane, {.mgid = mgid, .user = 1});
    ASSERT_EQ(next<hub::SubnetGroup>(*h3, first_lane).code, 0);
    h2->subnet->join(first_lane, {.mgid = mgid, .user = 5, .qkey = wire::QKey{0x666}});
    const auto refused = next<hub::SubnetGroup>(*h2, first_lane);
    EXPECT_EQ(refused.code, EINVAL) << "the group has another Q_Key";
    EXPECT_EQ(refused.user, 5u);
}

TEST_F(SubnetServiceTest, NoMemberHasMoreThanItsShare) {
    await_broadcast();
    const auto nobody = link::gid_of(ipv4(10, 7, 0, 99));
    for (std::size_t i = 0; i < SubnetService::max_questions; ++i)
        h2->subnet->find(first_lane, hub::FindNeighbour{nobody});
    EXPECT_TRUE(h2->told[first_lane].empty());
    h2->subnet->find(first_lane, hub::FindPath{gid_3, pkey});
    EXPECT_EQ(next<hub::PathFound>(*h2, first_lane).code, EAGAIN);
    EXPECT_EQ(counter(*h2, "subnet_queries_refused"), 1u);
    h2->subnet->find(second_lane, hub::FindPath{gid_3, pkey});
    EXPECT_EQ(next<hub::PathFound>(*h2, second_lane).code, 0) << "others are served";
    for (std::uint32_t user = 0; user < SubnetService::max_joins; ++user) h2->subnet->join(second_lane, {mgid, user});
    ASSERT_TRUE(until([&] { return h2->told[second_lane].size() == SubnetService::max_joins; }));
    h2->told.clear();
    h2->subnet->join(second_lane, {.mgid = mgid, .user = SubnetService::max_joins});
    EXPECT_EQ(next<hub::SubnetGroup>(*h2, second_lane).code, ENOSPC);
}

TEST_F(SubnetServiceTest, AMemberThatHasEndedIsToldNothing) {
    await_broadcast();
    h2->subnet->find(first_lane, hub::FindNeighbour{link::gid_of(ipv4(10, 7, 0, 99))});
    h2->subnet->find(first_lane, hub::FindPath{gid_3, pkey});
    h2->subnet->forget(first_lane);
    h2->subnet->find(second_lane, hub::FindNeighbour{link::gid_of(ipv4(10, 7, 0, 98))});
    EXPECT_EQ(next<hub::NeighbourFound>(*h2, second_lane).code, EHOSTUNREACH);
    EXPECT_TRUE(h2->told[first_lane].empty());
}

TEST_F(SubnetServiceTest, AnotherLidIsFollowed) {
    await_broadcast();
    const auto changes = h2->changes;
    fabric.console("Baselid \"H2\"[1] 20");
    ASSERT_TRUE(until([&] { return h2->moves == 1 && h2->changes > changes; }));
    EXPECT_EQ(h2->subnet->port().facts.lid, wire::Lid{20});
    sent.clear();
    h2->subnet->find(first_lane, hub::FindNeighbour{link::gid_of(ipv4(10, 7, 0, 98))});
    ASSERT_TRUE([&] {
        while (sent.empty()) loop->run_once(5 * millisecond);
        return true;
    }());
    EXPECT_EQ(link::source_lid(sent.front(), *test::open_frame(sent.front())), wire::Lid{20});
}

TEST_F(SubnetServiceTest, AnotherGidIsFollowed) {
    await_broadcast();
    h2->subnet->find(first_lane, hub::FindNeighbour{link::gid_of(ipv4(10, 7, 0, 3))});
    EXPECT_EQ(next<hub::NeighbourFound>(*h2, first_lane).gid, gid_3);
    h2->subnet->join(first_lane, {.mgid = mgid, .user = 1});
    next<hub::SubnetGroup>(*h2, first_lane);
    fabric.sm_kill();
    constexpr std::uint64_t prefix = 0xfec0'0000'0000'0007;
    fabric.configure(fmt::format("subnet_prefix {:#x}", prefix));
    fabric.sm_start();
    const auto now_2 = wire::Gid::of(prefix, wire::Guid{gid_2.interface_id()}),
               now_3 = wire::Gid::of(prefix, wire::Guid{gid_3.interface_id()});
    ASSERT_TRUE(
        until([&] { return h2->subnet->port().facts.gid() == now_2 && h3->subnet->port().facts.gid() == now_3; }));
    EXPECT_TRUE(h2->subnet->has_address({.family = rdmacm::Family::ib, .address = now_2}));
    EXPECT_FALSE(h2->subnet->has_address({.family = rdmacm::Family::ib, .address = gid_2}));
    ASSERT_TRUE(until([&] { return is_member(*h2, mgid); }));
    ASSERT_TRUE(until([&] {
        h2->subnet->find(second_lane, hub::FindNeighbour{link::gid_of(ipv4(10, 7, 0, 3))});
        return next<hub::NeighbourFound>(*h2, second_lane).gid == now_3;
    })) << "the peer says its addresses anew";
    EXPECT_EQ(h2->moves, 0);
}

TEST_F(SubnetServiceTest, WhenTheSubnetManagerHasForgottenAllMembersAreToldSo) {
    await_broadcast();
    h2->subnet->join(first_lane, {.mgid = mgid, .user = 1});
    next<hub::SubnetGroup>(*h2, first_lane);
    EXPECT_EQ(h2->subnet->port().reregistrations, 0u);
    const auto changes = h2->changes;
    fabric.sm_kill();
    fabric.sm_start();
    ASSERT_TRUE(until([&] { return h2->subnet->port().reregistrations == 1; }));
    EXPECT_GT(h2->changes, changes);
    EXPECT_TRUE(until([&] { return is_member(*h2, mgid); }));
}

TEST_F(SubnetServiceTest, AddressesAreInPartitions) {
    constexpr wire::PKey blue{0x8001};
    const auto in_blue = [](unsigned number) {
        return std::vector<link::InterfaceAddress>{{link::gid_of(ipv4(10, 8, 0, number)), 24, blue}};
    };
    h2.reset();
    h3.reset();
    h2 = open("H2", ipv4(10, 7, 0, 2), in_blue(2));
    h3 = open("H3", ipv4(10, 7, 0, 3), in_blue(3));
    await_broadcast();
    const auto to_blue = wire::ipoib_broadcast_mgid(blue);
    EXPECT_FALSE(h2->link_groups.contains(to_blue)) << "the port is not in it";
    fabric.assign(
        "Default=0x7fff, ipoib, defmember=full : ALL=full, ALL_SWITCHES=full, SELF=full;\n"
        "Blue=0x0001, ipoib, defmember=full : ALL=full;\n");
    ASSERT_TRUE(until([&] { return h2->link_groups.contains(to_blue) && h3->link_groups.contains(to_blue); }))
        << "now it is";
    const auto far = link::gid_of(ipv4(10, 8, 0, 3));
    h2->subnet->find(first_lane, hub::FindNeighbour{far, blue});
    const auto found = next<hub::NeighbourFound>(*h2, first_lane);
    EXPECT_EQ(found.code, 0);
    EXPECT_EQ(found.gid, gid_3);
    EXPECT_EQ(found.pkey, blue);
    h2->subnet->find(first_lane, hub::FindNeighbour{far, pkey});
    EXPECT_EQ(next<hub::NeighbourFound>(*h2, first_lane).code, EHOSTUNREACH)
        << "in the default partition it is nobody's";
    h2->subnet->find(first_lane, hub::FindNeighbour{far, wire::PKey{0x8002}});
    EXPECT_EQ(next<hub::NeighbourFound>(*h2, first_lane).code, EHOSTUNREACH) << "the port has no address there";
}

TEST_F(SubnetServiceTest, WhatIsNotForItIsDropped) {
    await_broadcast();
    h2->subnet->received(std::vector<std::byte>(100));
    EXPECT_EQ(counter(*h2, "ipoib_rx_dropped_invalid"), 1u);
}

}  // namespace
}  // namespace verbline::node

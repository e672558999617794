// SPDX-License-Identifier: BSD-3-Clause
// The SA client against a real OpenSM on a simulated fabric.
#include "tests/support/fabric.h"

#include <functional>
#include <map>
#include <string>

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include "control/mad/open.h"
#include "control/sa/agent.h"
#include "datapath/wire/text.h"
#include "tests/support/path_query.h"

namespace verbline::sa {
namespace {

using wire::join_state::full_member;

wire::Gid gid(const char* text) {
    wire::Gid gid;
    EXPECT_EQ(::inet_pton(AF_INET6, text, gid.bytes.data()), 1);
    return gid;
}

const auto broadcast = gid("ff12:401b:ffff::ffff:ffff");
constexpr UserId alice{1}, bob{2};

/// One host's control plane on a fabric.
struct Node {
    Node(const test::Fabric& fabric, const std::string& host, control::Loop& event_loop) : loop(event_loop) {
        auto opened = mad::open(fabric.spec(host), loop);
        if (!opened) throw std::runtime_error(opened.error().what);
        transport = std::move(*opened);
        agent = std::make_unique<Agent>(*transport, loop);
    }

    control::Loop& loop;
    std::unique_ptr<mad::Transport> transport;
    std::unique_ptr<Agent> agent;
};

class FabricTest : public testing::Test {
protected:
    bool run_until(const std::function<bool()>& done, Time limit = 10 * second) {
        for (const Time end = loop->now() + limit; !done() && loop->now() < end;) loop->run_once(5 * millisecond);
        return done();
    }
    template <class Record>
    Answer<Record> wait(const std::function<void(ReplyHandler<Record>)>& ask) {
        std::optional<Answer<Record>> answer;
        ask([&](const Answer<Record>& a) { answer = a; });
        EXPECT_TRUE(run_until([&] { return answer.has_value(); }));
        return answer.value_or(std::unexpected(Failure{.reason = Failure::Reason::cancelled}));
    }
    Answer<wire::PathRecord> path(Node& node, const wire::Gid& to, wire::PKey pkey = wire::PKey{0xffff}) {
        return wait<wire::PathRecord>(
            [&](auto reply) { test::path_by_gid(node.agent->client(), node.agent->port().gid(), to, pkey, reply); });
    }
    /// What the SA says of a port's membership.
    bool sa_holds(Node& node, const wire::Gid& mgid) {
        return wait<wire::McMemberRecord>([&](auto reply) {
                   node.agent->client().membership(
                       wire::MadMethod::get, {.mgid = mgid, .port_gid = node.agent->port().gid()},
                       wire::mcmember_component::mgid | wire::mcmember_component::port_gid, reply);
               })
            .has_value();
    }

    std::unique_ptr<control::Loop> loop = *control::Loop::create();
    test::Fabric fabric{test::star(4)};
};

TEST_F(FabricTest, ThePortKnowsItsPlaceInTheSubnet) {
    const Node h2(fabric, "H2", *loop);
    const auto& port = h2.agent->port();
    EXPECT_TRUE(port.active());
    EXPECT_NE(port.lid, wire::Lid{});
    EXPECT_NE(port.sm_lid, wire::Lid{});
    EXPECT_EQ(port.mtu, 2048);
    EXPECT_GT(static_cast<std::uint16_t>(port.qpn), 1);
    ASSERT_FALSE(port.pkeys.empty());
    EXPECT_EQ(port.pkeys[0], wire::PKey{0xffff});
}

TEST_F(FabricTest, PathsByGidAndByLidAgree) {
    Node h2(fabric, "H2", *loop), h3(fabric, "H3", *loop);
    const auto by_gid = path(h2, h3.agent->port().gid());
    ASSERT_TRUE(by_gid) << describe(by_gid.error());
    EXPECT_EQ(by_gid->destination_lid, h3.agent->port().lid);
    EXPECT_EQ(by_gid->source_lid, h2.agent->port().lid);
    EXPECT_EQ(by_gid->pkey, wire::PKey{0xffff});
    EXPECT_EQ(by_gid->mtu, wire::IbMtu::bytes_2048);
    const auto by_lid = wait<wire::PathRecord>([&](auto reply) {
        test::path_by_lid(h2.agent->client(), h2.agent->port().lid, h3.agent->port().lid, wire::PKey{0xffff}, reply);
    });
    ASSERT_TRUE(by_lid);
    EXPECT_EQ(*by_gid, *by_lid);
}

TEST_F(FabricTest, MissingRecordsReturnNoRecords) {
    Node h2(fabric, "H2", *loop);
    const auto nowhere = path(h2, gid("fe80::1234"));
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error(), (Failure{.status = SaStatus::no_records}));
    EXPECT_EQ(describe(nowhere.error()), "ERR_NO_RECORDS, nothing in the subnet matches (0x0300)");
    const auto foreign = path(h2, h2.agent->port().gid(), wire::PKey{0x8123});
    EXPECT_EQ(foreign.error(), (Failure{.status = SaStatus::no_records})) << "a partition we are not in";
}

TEST_F(FabricTest, NodesServicesAndTheSaItselfCanBeAskedFor) {
    Node h2(fabric, "H2", *loop);
    const auto node = wait<wire::NodeRecord>([&](auto reply) { h2.agent->client().node(h2.agent->port().lid, reply); });
    ASSERT_TRUE(node);
    EXPECT_EQ(wire::description(*node), "H2");
    const auto info = wait<wire::ClassPortInfo>([&](auto reply) { h2.agent->client().class_port_info(reply); });
    ASSERT_TRUE(info);
    EXPECT_EQ(info->class_version, 2);
    const auto service =
        wait<wire::ServiceRecord>([&](auto reply) { h2.agent->client().service("no such service", reply); });
    EXPECT_EQ(service.error(), (Failure{.status = SaStatus::no_records}));
}

TEST_F(FabricTest, TheCacheAsksOnceAndThenAnswers) {
    Node h2(fabric, "H2", *loop), h3(fabric, "H3", *loop);
    auto& paths = h2.agent->paths();
    const auto key = paths.key(h3.agent->port().gid(), wire::PKey{0xffff});
    int answers = 0;
    for (int i = 0; i < 5; ++i) paths.resolve(key, [&](const auto& answer) { answers += answer.has_value(); });
    EXPECT_TRUE(run_until([&] { return answers == 5; }));
    paths.resolve(key, [&](const auto& answer) { answers += answer.has_value(); });
    EXPECT_EQ(answers, 6) << "a hit answers at once";
    EXPECT_EQ(paths.cache().counters().queries.value(), 1u);
    EXPECT_EQ(paths.cache().counters().coalesced.value(), 4u);
}

TEST_F(FabricTest, OneUsersLeaveKeepsTheOtherInTheGroup) {
    Node h2(fabric, "H2", *loop);
    int grants = 0;
    const auto count = [&](const auto& group) {
        ASSERT_TRUE(group);
        EXPECT_EQ(group->mlid, wire::Lid{0xc000});
        EXPECT_EQ(group->qkey, wire::QKey{0x0b1b});
        ++grants;
    };
    h2.agent->groups().join(broadcast, alice, full_member, {}, count);
    h2.agent->groups().join(broadcast, bob, full_member, {}, count);
    ASSERT_TRUE(run_until([&] { return grants == 2; }));
    EXPECT_TRUE(sa_holds(h2, broadcast));
    h2.agent->groups().leave(broadcast, alice);
    EXPECT_TRUE(sa_holds(h2, broadcast)) << "bob is still in";
    ASSERT_EQ(h2.agent->groups().show().size(), 1u);
    EXPECT_EQ(h2.agent->groups().show()[0].users, 1u);
    h2.agent->groups().leave(broadcast, bob);
    EXPECT_TRUE(run_until([&] { return h2.agent->groups().show().empty(); }));
    EXPECT_FALSE(sa_holds(h2, broadcast));
}

TEST_F(FabricTest, AGroupIsCreatedAfterTheBroadcastGroup) {
    Node h2(fabric, "H2", *loop);
    std::optional<Group> like, made;
    h2.agent->groups().join(broadcast, alice, full_member, {}, [&](const auto& group) { like = *group; });
    ASSERT_TRUE(run_until([&] { return like.has_value(); }));
    const auto mgid = gid("ff12:401b:ffff::fb");
    h2.agent->groups().join(mgid, alice, full_member, {.create_like = like}, [&](const auto& group) { made = *group; });
    ASSERT_TRUE(run_until([&] { return made.has_value(); }));
    EXPECT_EQ(made->qkey, like->qkey);
    EXPECT_EQ(made->mtu, like->mtu);
    EXPECT_NE(made->mlid, like->mlid);
}

TEST_F(FabricTest, AJoinThatCannotWorkIsRefused) {
    Node h2(fabric, "H2", *loop);
    std::optional<SaStatus> why;
    h2.agent->groups().join(gid("ff12:401b:ffff::beef"), alice, full_member, {},
                            [&](const auto& group) { why = group.error(); });
    ASSERT_TRUE(run_until([&] { return why.has_value(); }));
    EXPECT_EQ(*why, SaStatus::insufficient_components);
    EXPECT_TRUE(h2.agent->groups().show().empty());
}

TEST_F(FabricTest, AfterTheSubnetManagersDeathAllIsJoinedAgainWithinTwoSeconds) {
    Node h2(fabric, "H2", *loop), h3(fabric, "H3", *loop);
    std::optional<Group> like;
    h2.agent->groups().join(broadcast, alice, full_member, {}, [&](const auto& group) { like = *group; });
    ASSERT_TRUE(run_until([&] { return like.has_value(); }));
    std::vector<wire::Gid> mgids = {broadcast};
    for (int i = 1; i <= 20; ++i) {
        mgids.push_back(gid(("ff12:401b:ffff::" + std::to_string(i)).c_str()));
        h2.agent->groups().join(mgids.back(), alice, full_member, {.create_like = like}, [](const auto&) {});
    }
    const auto all_held = [&] {
        const auto shown = h2.agent->groups().show();
        return shown.size() == mgids.size() &&
               std::ranges::all_of(shown, [](const auto& group) { return group.held == full_member; });
    };
    ASSERT_TRUE(run_until(all_held));
    auto& paths = h2.agent->paths();
    const auto key = paths.key(h3.agent->port().gid(), wire::PKey{0xffff});
    int answers = 0;
    const auto count = [&](const auto& answer) { answers += answer.has_value(); };
    paths.resolve(key, count);
    ASSERT_TRUE(run_until([&] { return answers == 1; }));

    fabric.sm_kill();
    const auto sent = [&] { return h2.transport->counters().tx_mads.value(); };
    ASSERT_TRUE(run_until([&] { return !h2.agent->sm_answering(); }));
    const auto sent_before = sent();
    const Time outage_end = loop->now() + 2 * second;
    run_until([&] { return loop->now() > outage_end; });
    EXPECT_LT(sent() - sent_before, 12u) << "without a subnet manager, no flood";
    paths.resolve(key, count);
    EXPECT_EQ(answers, 2) << "known paths go on";

    fabric.sm_start();
    const Time up = loop->now();
    ASSERT_TRUE(run_until([&] { return h2.agent->sm_answering() && all_held(); }, 2 * second));
    for (const auto& mgid : mgids) EXPECT_TRUE(sa_holds(h2, mgid)) << wire::to_string(mgid);
    EXPECT_LT(loop->now() - up, 2 * second);
    RecordProperty("rejoined_ms", static_cast<int>((loop->now() - up) / millisecond));
}

TEST_F(FabricTest, AQuickRestartIsNoticedToo) {
    Node h2(fabric, "H2", *loop);
    bool in = false;
    h2.agent->groups().join(broadcast, alice, full_member, {}, [&](const auto&) { in = true; });
    ASSERT_TRUE(run_until([&] { return in; }));
    fabric.sm_kill();
    fabric.sm_start();
    const Time up = loop->now();
    EXPECT_TRUE(run_until([&] { return sa_holds(h2, broadcast); }, 2 * second));
    EXPECT_LT(loop->now() - up, 2 * second);
}

TEST_F(FabricTest, TrapsOfAPortGoingAndComingPutItsPathsInDoubt) {
    Node h2(fabric, "H2", *loop);
    wire::Gid h4;
    wire::Lid h4_lid;
    {
        const Node node(fabric, "H4", *loop);
        h4 = node.agent->port().gid();
        h4_lid = node.agent->port().lid;
    }
    auto& paths = h2.agent->paths();
    const auto key = paths.key(h4, wire::PKey{0xffff});
    int known = 0;
    paths.resolve(key, [&](const auto& answer) { known += answer.has_value(); });
    ASSERT_TRUE(run_until([&] { return known == 1; }));
    std::vector<std::optional<wire::PathRecord>> changes;
    const auto watching = paths.on_change([&](const PathKey& changed, const auto& now) {
        EXPECT_EQ(changed, key);
        changes.push_back(now);
    });

    fabric.console("Unlink \"H4\"[1]");
    ASSERT_TRUE(run_until([&] { return changes.size() == 1; })) << "trap 65, and the SA knows no path any more";
    EXPECT_FALSE(changes[0]);
    EXPECT_EQ(paths.cache().find(key, loop->now()).found, PathCache::Found::absent);

    fabric.console("ReLink \"H4\"[1]");
    // Trap 64 makes an absence void long before its time is over.
    ASSERT_TRUE(run_until([&] { return paths.cache().find(key, loop->now()).found == PathCache::Found::unknown; },
                          PathCacheLimits{}.negative_ttl / 2));
    paths.resolve(key, [&](const auto& answer) { known += answer.has_value(); });
    ASSERT_TRUE(run_until([&] { return known == 2; }));
    EXPECT_EQ(paths.cache().find(key, loop->now()).path->destination_lid, h4_lid);
}

TEST_F(FabricTest, OurPortsBounceRestoresItsGroups) {
    Node h2(fabric, "H2", *loop);
    bool in = false;
    h2.agent->groups().join(broadcast, alice, full_member, {}, [&](const auto&) { in = true; });
    ASSERT_TRUE(run_until([&] { return in; }));
    std::vector<mad::PortEvent> events;
    const auto watching = h2.agent->on_event([&](mad::PortEvent event) { events.push_back(event); });
    fabric.console("Unlink \"H2\"[1]");
    ASSERT_TRUE(run_until([&] { return !h2.agent->port().active(); }));
    fabric.console("ReLink \"H2\"[1]");
    ASSERT_TRUE(run_until([&] { return h2.agent->port().active() && sa_holds(h2, broadcast); }));
    EXPECT_EQ(events.front(), mad::PortEvent::port_down);
    EXPECT_EQ(events.back(), mad::PortEvent::port_up);
}

TEST_F(FabricTest, AThousandRequestsAtOnceAreSentSixtyFourAtATime) {
    Node h2(fabric, "H2", *loop);
    int answers = 0;
    std::size_t most = 0;
    for (int i = 0; i < 1000; ++i) {
        test::path_by_lid(h2.agent->client(), h2.agent->port().lid, h2.agent->port().sm_lid, wire::PKey{0xffff},
                          [&](const auto& answer) {
                              answers += answer.has_value();
                              most = std::max(most, h2.agent->client().transactions().outstanding());
                          });
    }
    std::map<std::string, std::uint64_t, std::less<>> shown;
    h2.agent->counters([&](auto name, auto value, auto) { shown[std::string(name)] = value; });
    EXPECT_EQ(shown["requests_outstanding"], 64u);
    EXPECT_GE(shown["requests_queued"], 936u) << "and some of the agent's own";
    EXPECT_TRUE(run_until([&] { return answers == 1000; }));
    EXPECT_LE(most, 64u);
}

}  // namespace
}  // namespace verbline::sa

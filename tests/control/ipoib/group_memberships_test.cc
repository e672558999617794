// SPDX-License-Identifier: BSD-3-Clause
// Two IPoIB ports of a simulated fabric with a real OpenSM, which join and leave groups of IP multicast.
#include "control/ipoib/group_memberships.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "control/ipoib/groups.h"
#include "control/mad/open.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/mcmember_record.h"
#include "datapath/wire/text.h"
#include "tests/support/fabric.h"

namespace verbline::ipoib {
namespace group_memberships {
namespace {

wire::Gid group_number(std::uint8_t number) {
    return link::gid_of(wire::ipv4(239, 1, 2, number));
}

const wire::Gid group = group_number(3);
const wire::Gid ipv6_group = *wire::from_string<wire::Gid>("ff15::1:203");

class GroupMembershipsTest : public testing::Test {
protected:
    /// A port, and what it was last notified of about each group.
    struct Port {
        std::unique_ptr<mad::Transport> transport;
        std::unique_ptr<sa::Agent> agent;
        std::map<wire::Gid, wire::Lid> attached;                            ///< by MGID
        std::map<wire::Gid, std::optional<wire::AddressHandle>> locations;  ///< by IP group; none: unreachable
        int changes = 0;
        std::unique_ptr<GroupMemberships> memberships;

        std::uint64_t counter(std::string_view name) const {
            std::uint64_t found = 0;
            memberships->counters([&](auto each, auto value, auto) {
                if (each == name) found = value;
            });
            return found;
        }
        bool located(const wire::Gid& ip) const { return locations.contains(ip) && locations.at(ip); }
        bool unreachable(const wire::Gid& ip) const { return locations.contains(ip) && !locations.at(ip); }
    };

    std::unique_ptr<Port> open(const char* host) {
        auto port = std::make_unique<Port>();
        port->transport = std::move(*mad::open(fabric.spec(host), *loop));
        port->agent = std::make_unique<sa::Agent>(*port->transport, *loop);
        auto& self = *port;
        port->memberships = std::make_unique<GroupMemberships>(
            *port->agent, *loop,
            GroupMemberships::Setup{
                .attach = [&self](const wire::Gid& mgid, wire::Lid mlid) { self.attached[mgid] = mlid; },
                .detach = [&self](const wire::Gid& mgid) { self.attached.erase(mgid); },
                .located = [&self](const wire::Gid& ip, const wire::AddressHandle& to) { self.locations[ip] = to; },
                .unreachable = [&self](const wire::Gid& ip) { self.locations[ip].reset(); },
                .changed = [&self] { ++self.changes; }});
        return port;
    }
    /// Joins the broadcast group, which the port's memberships are to be like.
    void come_up(Port& port) {
        const auto broadcast = wire::ipoib_broadcast_mgid(pkey);
        bool joined = false;
        port.agent->groups().join(broadcast, sa::UserId{1}, wire::join_state::full_member, {.pkey = pkey},
                                  [&](const std::expected<sa::Group, sa::SaStatus>& answer) {
                                      ASSERT_TRUE(answer);
                                      port.memberships->set_broadcast(*answer);
                                      joined = true;
                                  });
        EXPECT_TRUE(until([&] { return joined; }));
    }
    bool until(const std::function<bool()>& reached, Time limit = 10 * second) {
        for (const Time end = loop->now() + limit; !reached() && loop->now() < end;) loop->run_once(5 * millisecond);
        return reached();
    }

    static constexpr wire::PKey pkey{0xffff};
    test::Fabric fabric{test::star(3)};
    std::unique_ptr<control::Loop> loop = std::move(*control::Loop::create());
    std::unique_ptr<Port> us = open("H2"), peer = open("H3");
};

TEST_F(GroupMembershipsTest, AttachesAGroupOnceItIsHeardAndDetachesIt) {
    come_up(*us);
    for (const auto& each : {group, ipv6_group}) us->memberships->hear(each, true);
    ASSERT_TRUE(until([&] { return us->attached.size() == 2; }));
    EXPECT_GE(us->attached.at(mgid_of(group, pkey)), wire::Lid{0xc000});
    EXPECT_EQ(us->counter("multicast_joins"), 2u);
    for (const auto& each : {group, ipv6_group}) us->memberships->hear(each, false);
    EXPECT_TRUE(us->attached.empty());
}

TEST_F(GroupMembershipsTest, JoinsNothingBeforeTheBroadcastGroupIsKnown) {
    us->memberships->hear(group, true);
    EXPECT_FALSE(until([&] { return !us->attached.empty(); }, 200 * millisecond));
    come_up(*us);
    EXPECT_TRUE(until([&] { return us->attached.contains(mgid_of(group, pkey)); }));
}

TEST_F(GroupMembershipsTest, SendsToAGroupThatAnotherPortHears) {
    come_up(*us);
    come_up(*peer);
    peer->memberships->hear(group, true);
    ASSERT_TRUE(until([&] { return !peer->attached.empty(); }));
    us->memberships->send(group, true);
    ASSERT_TRUE(until([&] { return us->located(group); }));
    EXPECT_EQ(us->locations.at(group)->dlid, peer->attached.at(mgid_of(group, pkey)));
    EXPECT_TRUE(us->attached.empty()) << "a send-only member receives nothing";
}

TEST_F(GroupMembershipsTest, JoinsAsFullMemberWhereTheSaRefusesASender) {
    come_up(*us);
    us->memberships->send(group, true);  // there is no such group
    ASSERT_TRUE(until([&] { return us->located(group); }));
    EXPECT_EQ(us->counter("multicast_refused"), 1u);
    EXPECT_EQ(us->counter("multicast_joins"), 1u);
}

TEST_F(GroupMembershipsTest, MakesTheGroupThatTheKernelSendsTo) {
    come_up(*us);
    come_up(*peer);
    us->memberships->resolve(group);
    ASSERT_TRUE(until([&] { return us->located(group); }));
    EXPECT_TRUE(until([&] { return peer->memberships->exists(group); })) << "trap 66";
    EXPECT_GE(peer->counter("multicast_groups_made"), 1u) << "a Report may come again";
    EXPECT_FALSE(us->memberships->exists(group)) << "but by us";
}

TEST_F(GroupMembershipsTest, NoticesThatAGroupOfOthersIsGone) {
    come_up(*us);
    come_up(*peer);
    peer->memberships->hear(group, true);
    ASSERT_TRUE(until([&] { return us->memberships->exists(group); })) << "trap 66";
    const auto changes = us->changes;
    peer->memberships->hear(group, false);
    EXPECT_TRUE(until([&] { return !us->memberships->exists(group); })) << "trap 67";
    EXPECT_GT(us->changes, changes);
}

TEST_F(GroupMembershipsTest, AsksForGroupsMadeBeforeItListened) {
    us.reset();
    come_up(*peer);
    peer->memberships->hear(group, true);
    ASSERT_TRUE(until([&] { return !peer->attached.empty(); }));
    us = open("H2");
    come_up(*us);
    EXPECT_FALSE(us->memberships->exists(group));
    us->memberships->look_for(group);
    us->memberships->look_for(group);
    EXPECT_TRUE(until([&] { return us->memberships->exists(group); }));
    EXPECT_EQ(us->counter("multicast_lookups"), 1u) << "one is enough for a while";
}

TEST_F(GroupMembershipsTest, LeavesTheGroupResolvedFirstForOneTooMany) {
    come_up(*us);
    for (std::uint8_t i = 1; i <= GroupMemberships::max_resolved + 1; ++i) {
        us->memberships->resolve(group_number(i));
        ASSERT_TRUE(until([&] { return us->located(group_number(i)); })) << int{i};
    }
    EXPECT_TRUE(us->unreachable(group_number(1)));
    EXPECT_TRUE(us->located(group_number(2)));
    EXPECT_EQ(us->counter("multicast_groups_left"), 1u);
}

}  // namespace
}  // namespace group_memberships
}  // namespace verbline::ipoib

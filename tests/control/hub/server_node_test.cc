// SPDX-License-Identifier: BSD-3-Clause
// A node's server and its clients.
#include <cerrno>
#include <future>

#include "datapath/wire/text.h"
#include "tests/control/hub/address.h"
#include "tests/control/hub/server_fixture.h"

namespace verbline::hub {
namespace {

struct NodeHost : FakeHost {
    Result<wire::MacAddress> resolve(const Resolve& wanted) override {
        asked.push_back(wanted);
        if (asked.size() == 1) return failure(EINPROGRESS, "not yet");
        if (wanted.to == wire::Gid{}) return failure(EHOSTUNREACH, "nobody");
        return wire::MacAddress{{std::byte{2}}};
    }
    Result<void> set_group(LaneId lane, const GroupMembership& group) override {
        if (broken) return failure(EIO, "no");
        return FakeHost::set_group(lane, group);
    }
    std::vector<Resolve> asked;
};

struct NodeServerTest : NodeTest {
    void SetUp() override { serve({.subnets = {}, .node = identity()}, host); }

    NodeHost host;
};

TEST_F(NodeServerTest, ShowsWhoItIsWithoutAMember) {
    NodeIdentity expected{.mac = port_mac, .addresses = {address("10.1.0.1/24")}};
    EXPECT_EQ(read_identity(name), expected);
    expected.addresses = {address("10.1.0.9/16"), address("fd76::9/64")};
    on_server([&] { server->set_addresses(expected.addresses); });
    EXPECT_EQ(read_identity(name), expected);
    on_server([&] { server.reset(); });
    EXPECT_EQ(read_identity(name), std::nullopt);
}

TEST_F(NodeServerTest, MembersShareThePortsAddresses) {
    const auto one = join(), two = join();
    EXPECT_EQ(one.mac, port_mac);
    EXPECT_EQ(two.mac, port_mac);
    EXPECT_EQ(one.addresses, two.addresses);
    EXPECT_EQ(one.member, link::MemberId{1});
    EXPECT_EQ(two.member, link::MemberId{2});
}

TEST_F(NodeServerTest, ANodeIsNoHub) {
    const auto refused = hub::join({.hub = name});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().what, "`" + name + "` is a node; use node:" + name);
}

TEST_F(NodeServerTest, ItsMembersAskForNextHops) {
    const auto lane = join();
    const auto to = address("10.1.0.2/24").gid;
    EXPECT_EQ(resolve(lane, lane.addresses[0].gid, to).error().code, EINPROGRESS);
    EXPECT_EQ(resolve(lane, lane.addresses[0].gid, to).value(), wire::MacAddress{{std::byte{2}}});
    EXPECT_EQ(resolve(lane, lane.addresses[0].gid, {}).error().code, EHOSTUNREACH);
    ASSERT_EQ(host.asked.size(), 3u);
    EXPECT_EQ(host.asked[0], (Resolve{lane.addresses[0].gid, to}));
}

TEST_F(NodeServerTest, AndAreToldOfItsAddresses) {
    const auto lane = join();
    EXPECT_FALSE(take_addresses(lane));
    const std::vector now{address("10.1.0.1/24"), address("10.1.0.9/24")};
    on_server([&] { server->set_addresses(now); });
    // Also one that comes in front of an answer.
    EXPECT_TRUE(reserve_port(lane, 0x106, 4000));
    EXPECT_EQ(take_addresses(lane), now);
    EXPECT_FALSE(take_addresses(lane)) << "once";
    EXPECT_EQ(join().addresses, now) << "who joins later has them";
}

TEST_F(NodeServerTest, APortIsReservedUntilItsMemberEnds) {
    const auto lane = join();
    {
        const auto other = join();
        EXPECT_EQ(reserve_port(other, 0x0106, 7174), 7174);
        const auto refused = reserve_port(lane, 0x0106, 7174);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, EADDRINUSE);
        EXPECT_NE(refused.error().what.find("(process " + std::to_string(getpid()) + ")"), std::string::npos);
    }
    for (int open = 2; open != 1;) on_server([&] { open = host.open; });  // until it has seen the end
    EXPECT_EQ(reserve_port(lane, 0x0106, 7174), 7174);
}

TEST_F(NodeServerTest, APortIsReboundToListen) {
    const auto one = join(), two = join();
    const PortUse reusing{.reuse = true};
    EXPECT_EQ(reserve_port(one, 0x0106, 7174, reusing), 7174);
    EXPECT_EQ(reserve_port(two, 0x0106, 7174, reusing), 7174);
    const Rebind listen{0x0106, 7174, reusing, reusing.as_listener()};
    EXPECT_EQ(rebind_port(one, listen).error().code, EADDRINUSE) << "another reuses it";
    EXPECT_TRUE(release_port(two, 0x0106, 7174, reusing));
    EXPECT_TRUE(rebind_port(one, listen));
    EXPECT_EQ(rebind_port(one, listen).error().code, ENOENT);
    on_server([&] { EXPECT_EQ(server->registry().holder({0x0106, 7174}, std::nullopt), LaneId{1}); });
}

TEST_F(NodeServerTest, AMemberBindsNoAddressOfOthers) {
    const auto lane = join();
    const PortUse own{.address = address("10.1.0.1/24").gid}, foreign{.address = address("10.1.0.2/24").gid};
    EXPECT_EQ(reserve_port(lane, 0x0106, 7174, foreign).error().code, EADDRNOTAVAIL);
    EXPECT_EQ(reserve_port(lane, 0x0106, 7174, own), 7174);
    EXPECT_EQ(rebind_port(lane, {0x0106, 7174, own, foreign}).error().code, EADDRNOTAVAIL);
    EXPECT_TRUE(rebind_port(lane, {0x0106, 7174, own, own.as_listener()})) << "none the worse";
}

TEST_F(NodeServerTest, TheLinkIsToldOfAGroupOnceForEachMember) {
    const auto lane = join();
    const auto group = *wire::from_string<wire::MacAddress>("01:00:5e:01:01:01");
    const auto mgid = address("10.1.0.3/24").gid;
    EXPECT_TRUE(join_group(lane, group, mgid));
    EXPECT_TRUE(join_group(lane, group, mgid));
    EXPECT_TRUE(leave_group(lane, group, mgid));
    EXPECT_TRUE(leave_group(lane, group, mgid));
    on_server([&] { host.broken = true; });
    EXPECT_EQ(join_group(lane, group, mgid).error().code, EIO);
    on_server([&] { EXPECT_TRUE(server->registry().tenant(LaneId{1}).groups.empty()); });
    ASSERT_EQ(host.groups.size(), 2u);
    EXPECT_EQ(host.groups[0].mgid, mgid);
}

TEST_F(NodeServerTest, ANumberThatNobodyHasHadIsFree) {
    on_server([&] { host.broken = true; });
    EXPECT_FALSE(hub::join({.hub = name, .kind = ServerKind::node}));
    on_server([&] {
        EXPECT_FALSE(server->registry().retired(LaneId{1}));
        host.broken = false;
    });
    { const auto lane = join(); }
    for (bool there = true; there;) {  // until the server has seen its end
        on_server([&] { there = !server->registry().tenants().empty(); });
    }
    on_server([&] { EXPECT_TRUE(server->registry().retired(LaneId{2})) << "one that had a member is not, yet"; });
}

}  // namespace
}  // namespace verbline::hub

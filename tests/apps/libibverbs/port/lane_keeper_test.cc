// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/lane_keeper.h"

#include <cerrno>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "control/hub/protocol.h"
#include "datapath/link/ip_gid.h"
#include "tests/apps/libibverbs/port/played_server.h"
#include "tests/support/fake_netdev.h"

namespace verbline::verbs {
namespace {

using News = LaneKeeper::News;

/// The test is the hub, before and after it was restarted; its answers are there before the questions.
struct LaneKeeperTest : ::testing::Test {
    static constexpr std::uint16_t tcp = 0x0106;

    LaneKeeperTest() {
        link.text = "hub:default";
        link.device = std::make_unique<test::FakeNetDevice>();
        lane_device = std::move(*pmd::Memif::create({.path = "/verbline-nowhere/lane-1.sock"}, nullptr));
        link.lane_device = lane_device.get();
        hub.emplace(link.lane);
        link.lane.mac = mac;
        link.rejoin = [this](const hub::Lane& before) -> Result<hub::Lane> {
            EXPECT_EQ(before.mac, mac);
            ++attempts;
            if (!returned) return std::unexpected(refusal);
            return std::move(*std::exchange(returned, std::nullopt));
        };
    }
    void say(const hub::Message& message) const { hub->say(message); }
    void end() {
        hub.reset();
        EXPECT_EQ(keeper.look(now), News::ended);
    }
    void return_as(const wire::MacAddress& address) {
        returned.emplace();
        hub.emplace(*returned);
        returned->mac = address;
        returned->memif_socket = "/verbline-nowhere/lane-2.sock";
    }
    News later() { return keeper.look(now += second); }

    const wire::MacAddress mac{{std::byte{6}, std::byte{0x76}, {}, {}, {}, std::byte{1}}};
    OpenedLink link;
    std::unique_ptr<pmd::Memif> lane_device;
    std::optional<test::PlayedServer> hub;
    std::mutex mutex;
    LinkGroups groups{link, mutex};
    LinkPorts ports{link, mutex};
    LinkSubnet subnet{link, mutex};
    HubBroker broker{link, mutex};
    XrcSharing xrc{link, mutex, {}};
    LaneKeeper keeper{link, groups, ports, subnet, xrc, broker, mutex};
    std::optional<hub::Lane> returned;
    Error refusal{ENOENT, "no hub `default` runs here"};
    unsigned attempts = 0;
    Time now = second;
};

TEST_F(LaneKeeperTest, AHubThatLivesIsNoNews) {
    EXPECT_EQ(later(), News::nothing);
    say(hub::Done{});
    EXPECT_EQ(later(), News::nothing) << "whatever it says";
    EXPECT_EQ(attempts, 0u);
}

TEST_F(LaneKeeperTest, LinksWithoutAHubHaveNone) {
    link.lane.control = {};
    EXPECT_EQ(later(), News::nothing);
}

TEST_F(LaneKeeperTest, ItsEndIsToldOnceAndItsReturnIsTriedForAFewTimesASecond) {
    end();
    EXPECT_EQ(keeper.look(now), News::nothing);
    EXPECT_EQ(attempts, 0u);
    for (unsigned step = 0; step < 20; ++step) EXPECT_EQ(keeper.look(now += 50 * millisecond), News::nothing);
    EXPECT_EQ(attempts, 4u);
}

TEST_F(LaneKeeperTest, ItReturnsWithGroupsAndPorts) {
    const auto group = link::gid_of(wire::ipv4(224, 1, 2, 3)), left = link::gid_of(wire::ipv4(224, 1, 2, 4));
    for (int i = 0; i < 3; ++i) say(hub::Done{});
    ASSERT_TRUE(groups.join(group, {}));
    ASSERT_TRUE(groups.join(left, {}));
    groups.leave(left, {});
    say(hub::Reserved{7174});
    say(hub::Reserved{40000});
    say(hub::Done{});
    ASSERT_EQ(ports.reserve(tcp, 7174), 7174);
    ASSERT_EQ(ports.reserve(tcp, 0), 40000);
    const PortUse listens = PortUse{}.as_listener();
    ASSERT_TRUE(ports.rebind(tcp, 40000, {}, listens));
    end();
    EXPECT_FALSE(ports.release(tcp, 7174)) << "nobody is there";
    return_as(mac);
    say(hub::Done{});
    say(hub::Reserved{40000});
    EXPECT_EQ(later(), News::returned);
    EXPECT_EQ(link.lane.memif_socket, "/verbline-nowhere/lane-2.sock");
    const hub::GroupMembership joined{ethernet_address_of_group(group), true, group, {}};
    EXPECT_EQ(hub->heard(), (std::vector<hub::Message>{joined, hub::Reserve{tcp, 40000, listens}}));
    EXPECT_EQ(later(), News::nothing);
    end();
}

TEST_F(LaneKeeperTest, AsAnotherItDoesNotReturn) {
    end();
    auto other = mac;
    other.bytes[5] = std::byte{9};
    return_as(other);
    testing::internal::CaptureStderr();
    EXPECT_EQ(later(), News::nothing);
    return_as(other);
    EXPECT_EQ(later(), News::nothing);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "verbline: hub:default: has returned as another, with another MAC address or MTU; start the program "
              "again\n")
        << "once";
    return_as(mac);
    EXPECT_EQ(later(), News::returned);
}

TEST_F(LaneKeeperTest, OnAFabricTheMacAddressFollowsFromTheLid) {
    link.fabric.lid = wire::Lid{3};
    end();
    auto other = mac;
    other.bytes[5] = std::byte{9};
    return_as(other);
    EXPECT_EQ(later(), News::returned);
}

struct LaneThatMovesTest : LaneKeeperTest {
    LaneThatMovesTest() {
        link.fabric.lid = wire::Lid{3};
        link.rejoin = [this](const hub::Lane& before) -> Result<hub::Lane> {
            asked.push_back(before.mac);
            if (!returned) return std::unexpected(refusal);
            returned->mac = before.mac;
            return std::move(*std::exchange(returned, std::nullopt));
        };
        other.bytes[5] = std::byte{9};
    }
    wire::MacAddress other = mac;
    std::vector<wire::MacAddress> asked;
};

TEST_F(LaneThatMovesTest, ItIsLeftAndJoinedWithTheNewAddressWhichIsNoNews) {
    return_as(mac);
    EXPECT_FALSE(keeper.moving());
    keeper.move(other);
    EXPECT_TRUE(keeper.moving());
    EXPECT_EQ(keeper.look(now), News::nothing);
    EXPECT_EQ(asked, std::vector{other});
    EXPECT_EQ(link.lane.mac, other);
    EXPECT_EQ(link.lane.memif_socket, "/verbline-nowhere/lane-2.sock");
    EXPECT_TRUE(keeper.moving()) << "until its link has been seen to be up";
    keeper.moved();
    EXPECT_EQ(later(), News::nothing);
    EXPECT_EQ(asked.size(), 1u);
}

TEST_F(LaneThatMovesTest, AnAddressThatAnotherPortHasStillIsWaitedForInSilence) {
    refusal = {EADDRINUSE, "another program has the port of host H3"};
    keeper.move(other);
    testing::internal::CaptureStderr();
    for (unsigned step = 0; step < 10; ++step) EXPECT_EQ(keeper.look(now += 50 * millisecond), News::nothing);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(asked.size(), 10u);
    testing::internal::CaptureStderr();
    for (unsigned step = 0; step < 20; ++step) EXPECT_EQ(later(), News::nothing);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "verbline: another program has the port of host H3\n")
        << "for ten seconds";
    return_as(mac);
    EXPECT_EQ(later(), News::nothing);
    EXPECT_EQ(link.lane.mac, other);
}

TEST_F(LaneThatMovesTest, AHubThatHasEndedMeanwhileIsNews) {
    keeper.move(other);
    EXPECT_EQ(keeper.look(now), News::ended);
    EXPECT_FALSE(keeper.moving());
    EXPECT_EQ(later(), News::nothing);
    return_as(mac);
    EXPECT_EQ(later(), News::returned);
    EXPECT_EQ(link.lane.mac, other);
}

TEST_F(LaneThatMovesTest, WithAHubThatHasEndedItMovesWhenThatReturns) {
    end();
    keeper.move(other);
    EXPECT_EQ(keeper.look(now), News::nothing);
    EXPECT_FALSE(keeper.moving());
    return_as(mac);
    EXPECT_EQ(later(), News::returned);
    EXPECT_EQ(asked.back(), other);
}

TEST_F(LaneKeeperTest, ARefusalIsPrintedOnce) {
    end();
    refusal = {EADDRINUSE, "address 10.99.0.1/16 is in use"};
    testing::internal::CaptureStderr();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(later(), News::nothing);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "verbline: address 10.99.0.1/16 is in use\n");
}

TEST_F(LaneKeeperTest, WaitsForWhoTalksWithTheHub) {
    end();
    return_as(mac);
    const std::scoped_lock another(mutex);
    std::jthread([&] { EXPECT_EQ(later(), News::nothing); }).join();
    EXPECT_EQ(attempts, 0u);
}

}  // namespace
}  // namespace verbline::verbs

// SPDX-License-Identifier: BSD-3-Clause
// Receive events of a bridge: the first one of a member that has one wakes the poll thread.
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <poll.h>

#include <gtest/gtest.h>

#include "pmd/base/event_descriptor.h"
#include "pmd/wakeups/wakeups.h"
#include "tests/pmd/bridge/bridge_fixture.h"

namespace verbline::pmd {
namespace {

using test::FakeNetDevice;
using test_bridge::BridgeTest, test_bridge::host, test_bridge::us;

/// A device with a descriptor that tells of arrivals while it is wanted.
struct WakingDevice : FakeNetDevice {
    int rx_event(std::uint16_t) const noexcept override { return event.get(); }
    void want_rx_event(std::uint16_t, bool value) noexcept override { wanted = value; }
    void arrive() const {
        if (wanted) event.signal();
    }
    EventDescriptor event = EventDescriptor::make();
    bool wanted = false;
};

bool readable(int fd) {
    pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
    return poll(&one, 1, 0) == 1;
}

TEST(BridgeEvents, AnyMemberWakesTheReceiver) {
    std::vector<std::unique_ptr<NetDevice>> devices;
    std::vector<WakingDevice*> members;
    for (unsigned i = 0; i < 3; ++i) {
        auto device = std::make_unique<WakingDevice>();
        members.push_back(device.get());
        devices.push_back(std::move(device));
    }
    const auto bridge = Bridge::create("b", std::move(devices), test::packet_pool(), [] { return Time{0}; }).value();
    for (auto* member : members) {
        bridge->want_rx_event(0, true);
        const int fd = bridge->rx_event(0);
        ASSERT_GE(fd, 0);
        EXPECT_FALSE(readable(fd));
        member->arrive();
        EXPECT_TRUE(readable(fd));
        bridge->want_rx_event(0, false);
        EXPECT_FALSE(readable(fd)) << "what it has told is taken back";
        EXPECT_FALSE(member->wanted);
    }
}

TEST(BridgeEvents, NoEventWhileFramesWaitForAFullMember) {
    std::vector<std::unique_ptr<NetDevice>> devices;
    std::vector<WakingDevice*> members;
    for (unsigned i = 0; i < 2; ++i) {
        members.push_back(new WakingDevice);
        devices.emplace_back(members.back());
    }
    const auto bridge = Bridge::create("b", std::move(devices), test::packet_pool(), [] { return Time{0}; }).value();
    ASSERT_FALSE(bridge->set_identity({.mac = us}));
    std::array<rte_mbuf*, 8> ours;
    members[1]->tx_room = 0;
    members[0]->receive(BridgeTest::frame(host(1), host(0)));
    EXPECT_EQ(bridge->rx_burst(0, ours), 0);
    bridge->want_rx_event(0, true);
    EXPECT_EQ(bridge->rx_event(0), -1) << "nobody tells when the member has room";

    members[1]->tx_room = 1;
    EXPECT_EQ(bridge->rx_burst(0, ours), 0);
    EXPECT_EQ(members[1]->sent.size(), 1u);
    bridge->want_rx_event(0, true);
    EXPECT_GE(bridge->rx_event(0), 0);
}

TEST_F(BridgeTest, NoEventWithAMemberWithoutEvents) {
    bridge->want_rx_event(0, true);
    EXPECT_EQ(bridge->rx_event(0), -1);
    for (auto* member : members) member->link = false;
    bridge->link_up();
    bridge->want_rx_event(0, true);
    EXPECT_GE(bridge->rx_event(0), 0) << "nothing comes from a member that is down";
}

TEST_F(BridgeTest, HasAnEventOnceMembersWithoutEventsAreDown) {
    Wakeups wakeups;
    EXPECT_FALSE(wakeups.want(*bridge, 0, 0));
    for (auto* member : members) member->link = false;
    bridge->link_up();
    EXPECT_TRUE(wakeups.want(*bridge, 0, 0));
}

TEST_F(BridgeTest, SignalsWhenAMemberComesUp) {
    for (auto* member : members) member->link = false;
    bridge->link_up();
    bridge->want_rx_event(0, false);
    bridge->want_rx_event(0, true);
    ASSERT_FALSE(readable(bridge->rx_event(0)));
    members[0]->link = true;
    bridge->link_up();
    EXPECT_TRUE(readable(bridge->rx_event(0)));
    bridge->want_rx_event(0, false);
    bridge->link_up();
    EXPECT_FALSE(readable(bridge->rx_event(0))) << "nothing has changed since";
}

}  // namespace
}  // namespace verbline::pmd

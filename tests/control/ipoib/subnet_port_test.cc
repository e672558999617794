// SPDX-License-Identifier: BSD-3-Clause
// On a simulated fabric with a real OpenSM. What follows from identity and groups in a router is in
// tests/control/router/ipoib_port_test.cc.
#include "control/ipoib/subnet_port.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "control/mad/open.h"
#include "datapath/link/ip_gid.h"
#include "tests/support/counter.h"
#include "tests/support/fabric.h"
#include "tests/support/fake_netdev.h"

namespace verbline::ipoib {
namespace {

const auto group = link::gid_of(wire::ipv4(239, 1, 2, 3));

/// An interface, and what it has said.
struct Host {
    Host(control::Loop& loop, const std::string& sm)
        : transport(std::move(*mad::open(sm, loop))), agent(*transport, loop), port(loop, agent, setup()) {
        port.start();
    }
    SubnetPort::Setup setup() {
        return {.qpn = wire::Qpn{0x48},
                .device = &device,
                .identify = [this](const auto& now) { identity = now; },
                .attach = [this](const auto& at) { attached.push_back(at.mgid); },
                .detach = [this](const auto& at) { std::erase(attached, at.mgid); },
                .up = [this] { ++ups; },
                .down = [] {},
                .paths_changed = [] {},
                .located = [this](const wire::Gid& at, const link::Destination&) { located.push_back(at); },
                .unreachable = [](const wire::Gid&) {},
                .groups_changed = [this] { ++changes; },
                .send = [](wire::Bytes, const link::Destination&) {},
                .trouble = [](const std::string&) {}};
    }

    verbline::test::FakeNetDevice device;
    std::optional<Identity> identity;
    std::vector<wire::Gid> attached, located;
    int ups = 0, changes = 0;
    std::unique_ptr<mad::Transport> transport;
    sa::Agent agent;
    SubnetPort port;
};

class SubnetPortTest : public testing::Test {
protected:
    bool run_until(const std::function<bool()>& done, Time limit = 10 * second) {
        for (const Time end = loop->now() + limit; !done() && loop->now() < end;) loop->run_once(5 * millisecond);
        return done();
    }
    verbline::test::Fabric fabric{verbline::test::star(3)};
    std::unique_ptr<control::Loop> loop = std::move(*control::Loop::create());
};

TEST_F(SubnetPortTest, IsUpWithItsIdentityAndTheBroadcastGroup) {
    Host host(*loop, fabric.spec("H2"));
    EXPECT_FALSE(host.port.up());
    EXPECT_FALSE(host.port.broadcast(wire::ether_type::ipv4));
    ASSERT_TRUE(run_until([&] { return host.ups > 0; }));
    ASSERT_TRUE(host.identity);
    EXPECT_EQ(host.identity->port.lid, host.transport->port().lid);
    EXPECT_EQ(host.port.address().gid, host.transport->port().gid());
    EXPECT_EQ(host.attached.size(), 1u);
    EXPECT_TRUE(host.port.broadcast(wire::ether_type::ipv4));
    EXPECT_EQ(verbline::test::counter(host.port, "broadcast_joins"), 1u);
}

TEST_F(SubnetPortTest, LocatesANeighbourByItsPath) {
    Host host(*loop, fabric.spec("H2")), other(*loop, fabric.spec("H3"));
    ASSERT_TRUE(run_until([&] { return host.ups > 0 && other.ups > 0; }));
    std::optional<link::Destination> to;
    host.port.locate(other.port.address(), wire::ether_type::ipv4, [&](const auto& found) { to = found; });
    ASSERT_TRUE(run_until([&] { return to.has_value(); }));
    EXPECT_EQ(to->address.dlid, other.identity->port.lid);
    EXPECT_EQ(to->qpn, wire::Qpn{0x48});
}

TEST_F(SubnetPortTest, KnowsTheGroupsOfOthers) {
    Host host(*loop, fabric.spec("H2")), other(*loop, fabric.spec("H3"));
    ASSERT_TRUE(run_until([&] { return host.ups > 0 && other.ups > 0; }));
    other.port.memberships().hear(group, true);
    ASSERT_TRUE(run_until([&] { return other.attached.size() == 2; }));
    host.port.memberships().look_for(group);
    ASSERT_TRUE(run_until([&] { return host.port.memberships().exists(group); }));
    EXPECT_EQ(host.port.memberships().others(), std::vector{group});
    EXPECT_GT(host.changes, 0);
    host.port.memberships().resolve(group);
    EXPECT_TRUE(run_until([&] { return host.located == std::vector{group}; }));
}

}  // namespace
}  // namespace verbline::ipoib

// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/failover.h"

#include <array>
#include <memory>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/fake_netdev.h"
#include "tests/support/fake_transport.h"

namespace verbline::gateway {
namespace {

constexpr std::array both{true, true}, first{true, false}, backup{false, true}, none{false, false};

TEST(FailoverChoice, StaysAsLongAsTheActiveOneWorks) {
    FailoverChoice choice(0);
    EXPECT_EQ(choice.look(both, second), 0u);
    EXPECT_EQ(choice.look(first, 2 * second), 0u);
}

TEST(FailoverChoice, TakesTheBackupAtOnceWhenTheFirstStops) {
    FailoverChoice choice(0);
    EXPECT_EQ(choice.look(both, second), 0u);
    EXPECT_EQ(choice.look(backup, second + 1), 1u);
    EXPECT_EQ(choice.look(none, second + 2), 1u) << "neither is better";
}

TEST(FailoverChoice, LeavesTheFirstTimeToStart) {
    FailoverChoice choice(0);
    EXPECT_EQ(choice.look(backup, FailoverChoice::start_limit - 1), 0u);
    EXPECT_EQ(choice.look(backup, FailoverChoice::start_limit), 1u);
}

TEST(FailoverChoice, ReturnsOnceTheFirstHasWorkedForAWhile) {
    FailoverChoice choice(0);
    choice.look(both, second);
    ASSERT_EQ(choice.look(backup, 2 * second), 1u);
    EXPECT_EQ(choice.look(both, 3 * second), 1u);
    EXPECT_EQ(choice.look(backup, 9 * second), 1u);
    EXPECT_EQ(choice.look(both, 10 * second), 1u) << "it went again";
    EXPECT_EQ(choice.look(both, 10 * second + FailoverChoice::return_after - 1), 1u);
    EXPECT_EQ(choice.look(both, 10 * second + FailoverChoice::return_after), 0u);
}

TEST(FailoverChoice, ReturnsAtOnceIfTheBackupStops) {
    FailoverChoice choice(0);
    choice.look(both, second);
    ASSERT_EQ(choice.look(backup, 2 * second), 1u);
    EXPECT_EQ(choice.look(first, 3 * second), 0u);
}

struct FailoverTest : ::testing::Test {
    FailoverTest() {
        auto one = std::make_unique<test::FakeNetDevice>(), two = std::make_unique<test::FakeNetDevice>();
        link = one.get();
        pmd::ActiveBackup::Members devices{std::move(one), std::move(two)};
        device = pmd::ActiveBackup::create("pair", std::move(devices)).value();
        auto sm = std::make_unique<test::FakeTransport>(), other = std::make_unique<test::FakeTransport>();
        port = sm.get();
        transport = std::make_unique<mad::ActiveBackupTransport>(
            mad::ActiveBackupTransport::Members{std::move(sm), std::move(other)});
        failover.emplace(*loop, *device, *transport, [this] { ++announced; });
        look();
    }
    void look() {
        device->link_up();
        failover->look();
    }

    std::unique_ptr<control::Loop> loop = *control::Loop::create();
    test::FakeNetDevice* link = nullptr;
    test::FakeTransport* port = nullptr;
    std::unique_ptr<pmd::ActiveBackup> device;
    std::unique_ptr<mad::ActiveBackupTransport> transport;
    std::optional<Failover> failover;
    unsigned announced = 0;
};

TEST_F(FailoverTest, PacketsAndMadsGoOverTogether) {
    EXPECT_EQ(failover->active(), 0u);
    link->link = false;
    look();
    EXPECT_EQ(device->active(), 1u);
    EXPECT_EQ(transport->active(), 1u);
}

TEST_F(FailoverTest, AtOnceWhenTheSubnetManagerTakesThePortDown) {
    auto facts = port->port();
    facts.state = wire::PortState::down;
    port->observe(facts);
    EXPECT_EQ(failover->active(), 1u) << "without another look";
}

TEST_F(FailoverTest, OurAddressesAreAnnouncedAgain) {
    link->link = false;
    look();
    const auto until = loop->now() + 5 * second;
    while (announced < Announcements::count && loop->now() < until) loop->run_once(second);
    EXPECT_EQ(announced, Announcements::count);
    loop->run_once(2 * Announcements::interval);
    EXPECT_EQ(announced, Announcements::count) << "and no more";
}

}  // namespace
}  // namespace verbline::gateway

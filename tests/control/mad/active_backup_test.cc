// SPDX-License-Identifier: BSD-3-Clause
#include "control/mad/active_backup.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/counter.h"
#include "tests/support/fake_transport.h"

namespace verbline::mad {
namespace {

using test::FakeTransport;

PortFacts facts(unsigned number) {
    return {.lid = wire::Lid{static_cast<std::uint16_t>(number)},
            .sm_lid = wire::Lid{1},
            .guid = wire::Guid{number},
            .pkeys = {wire::PKey{0xffff}},
            .state = wire::PortState::active,
            .mtu = 2048};
}

MadBuffer subnet_administration() {
    MadBuffer mad{};
    wire::Mad{.management_class = wire::MadClass::subnet_administration}.emit(std::span(mad).first<wire::Mad::size>());
    return mad;
}

struct ActiveBackupTransportTest : ::testing::Test {
    ActiveBackupTransportTest() {
        auto one = std::make_unique<FakeTransport>(facts(3)), two = std::make_unique<FakeTransport>(facts(4));
        first = one.get(), second = two.get();
        pair.emplace(ActiveBackupTransport::Members{std::move(one), std::move(two)});
        pair->listen([this](PortEvent event) { events.push_back(event); });
        pair->receive(wire::MadClass::subnet_administration, [this](const MadAddress&, MadBytes) { ++received; });
    }

    FakeTransport *first = nullptr, *second = nullptr;
    std::optional<ActiveBackupTransport> pair;
    std::vector<PortEvent> events;
    int received = 0;
};

TEST_F(ActiveBackupTransportTest, IsTheFirst) {
    EXPECT_EQ(pair->port(), facts(3));
    pair->send({}, subnet_administration(), 0);
    EXPECT_EQ(first->sent.size(), 1u);
    EXPECT_TRUE(second->sent.empty());
    first->deliver(0, {}, subnet_administration());
    EXPECT_EQ(received, 1);
}

TEST_F(ActiveBackupTransportTest, AChangeIsThatOfAllAddressesAndARegistrationAnew) {
    pair->select(1);
    EXPECT_EQ(pair->port(), facts(4));
    EXPECT_EQ(events, (std::vector{PortEvent::lid_change, PortEvent::gid_change, PortEvent::client_reregister}));
    pair->send({}, subnet_administration(), 0);
    EXPECT_EQ(second->sent.size(), 1u);
    pair->select(1);
    EXPECT_EQ(events.size(), 3u) << "no change";
}

TEST_F(ActiveBackupTransportTest, LateAnswersToTheOtherAreNobodys) {
    pair->select(1);
    first->deliver(0, {}, subnet_administration());
    EXPECT_EQ(received, 0);
    second->deliver(0, {}, subnet_administration());
    EXPECT_EQ(received, 1);
}

TEST_F(ActiveBackupTransportTest, EventsOfTheBackupAreNotTheUsers) {
    int changes = 0;
    pair->on_change([&] { ++changes; });
    auto down = facts(4);
    down.state = wire::PortState::down;
    second->observe(down);
    EXPECT_TRUE(events.empty());
    EXPECT_EQ(changes, 1);
    EXPECT_FALSE(pair->usable(1));
    EXPECT_TRUE(pair->usable(0));
    first->raise(PortEvent::client_reregister);
    EXPECT_EQ(events, std::vector{PortEvent::client_reregister});
}

TEST_F(ActiveBackupTransportTest, EachChangeIsSaidOnce) {
    auto now = facts(3);
    now.lid = wire::Lid{9};
    now.sm_lid = wire::Lid{2};
    first->observe(now);
    EXPECT_EQ(events, (std::vector{PortEvent::lid_change, PortEvent::sm_change}));
    EXPECT_EQ(pair->port(), now);
}

TEST_F(ActiveBackupTransportTest, CountsWhatBothHave) {
    first->deliver(0, {}, subnet_administration());
    second->deliver(0, {}, subnet_administration());
    EXPECT_EQ(test::counter(*pair, "rx_mads"), 2u);
    EXPECT_EQ(test::counter(*pair, "rx_dropped_no_receiver"), 0u);
    pair->receive(wire::MadClass::subnet_administration, {});
    first->deliver(0, {}, subnet_administration());
    EXPECT_EQ(test::counter(*pair, "rx_dropped_no_receiver"), 1u);
}

}  // namespace
}  // namespace verbline::mad

// SPDX-License-Identifier: BSD-3-Clause
// Programs that have one address each see every MAD for it: node 1 and node 2 are two such, node 0 is their peer.
#include <gtest/gtest.h>

#include "tests/control/cm/world.h"

namespace verbline::cm::test {
namespace {

using enum wire::CmAttribute;

constexpr unsigned one = 1, other = 2;

class Shared : public testing::Test {
protected:
    /// What was sent to the address is seen by both.
    void deliver_to_both() {
        while (!world.flights.empty()) {
            auto flight = world.flights.front();
            world.flights.pop_front();
            if (flight.to == 0) {
                flight.from = one;
                world.deliver(flight);
            } else {
                for (const auto each : {one, other}) {
                    flight.to = each;
                    world.deliver(flight);
                }
            }
        }
    }
    std::optional<wire::CmServiceId> held_by_other;
    World world{3, [this](unsigned node, Manager::Options& options) {
                    if (node == 0) return;
                    const auto as_the_first = [](const wire::Gid& gid) {
                        return gid == gid_of(one) ? std::optional(0u) : std::nullopt;
                    };
                    options.gid_index = as_the_first;
                    options.shared = true;
                    if (node == one) options.elsewhere = [this](wire::CmServiceId id) { return id == held_by_other; };
                }};
};

TEST_F(Shared, RequestIsAnsweredByTheManagerThatListens) {
    held_by_other = service;
    const auto listener = *world.manager(other).listen(service, exactly, world.now);
    const auto active = *world.manager(0).connect(world.request(0, one), world.now);
    deliver_to_both();
    const auto passive = next<RequestReceived>(*listener, world.now)->endpoint;
    EXPECT_TRUE(passive->reply({.qpn = wire::Qpn{0x200}}, world.now));
    deliver_to_both();
    EXPECT_TRUE(next<ReplyReceived>(*active, world.now));
    EXPECT_TRUE(active->ready_to_use({}, world.now));
    deliver_to_both();
    EXPECT_TRUE(next<Established>(*passive, world.now));
    EXPECT_TRUE(active->disconnect({}, world.now));
    deliver_to_both();
    EXPECT_TRUE(next<DisconnectRequested>(*passive, world.now));
    deliver_to_both();
    EXPECT_TRUE(next<Disconnected>(*active, world.now));
    EXPECT_EQ(world.counter(one, "rx_dropped_elsewhere"), 1u);
    EXPECT_EQ(world.counter(one, "rx_dropped_unknown_id"), 2u) << "RTU and DREQ";
    EXPECT_EQ(world.counter(one, "tx_rej") + world.counter(one, "tx_drep"), 0u);
}

TEST_F(Shared, SidrRequestIsAnsweredByTheManagerThatListens) {
    held_by_other = service;
    const auto listener = *world.manager(other).listen(service, exactly, world.now);
    const auto client =
        *world.manager(0).resolve({.path = world.request(0, one).primary, .service = service}, world.now);
    deliver_to_both();
    const auto asked = next<ServiceRequestReceived>(*listener, world.now);
    EXPECT_TRUE(asked);
    EXPECT_TRUE(world.flights.empty());
    EXPECT_EQ(world.counter(one, "rx_dropped_elsewhere"), 1u);
    EXPECT_FALSE(client->poll(world.now));
}

TEST_F(Shared, RejectsServiceIdWithoutListener) {
    const auto active = *world.manager(0).connect(world.request(0, one), world.now);
    deliver_to_both();
    const auto rejected = next<Rejected>(*active, world.now);
    ASSERT_TRUE(rejected);
    EXPECT_EQ(rejected->rejection.reason, wire::CmRejectReason::invalid_service_id);
    EXPECT_FALSE(active->poll(world.now)) << "the second one says nothing new";
    EXPECT_EQ(world.counter(one, "rejected_unknown_service") + world.counter(other, "rejected_unknown_service"), 2u);
}

TEST_F(Shared, OneThatConnectsIsNotDisturbedByTheOther) {
    const auto listener = *world.manager(0).listen(service, exactly, world.now);
    const auto active = *world.manager(one).connect(
        [&] {
            auto request = world.request(one, 0);
            request.qpn = wire::Qpn{0x300};
            return request;
        }(),
        world.now);
    deliver_to_both();
    const auto passive = next<RequestReceived>(*listener, world.now)->endpoint;
    EXPECT_TRUE(passive->reply({.qpn = wire::Qpn{0x200}}, world.now));
    deliver_to_both();
    EXPECT_TRUE(next<ReplyReceived>(*active, world.now));
    EXPECT_FALSE(passive->poll(world.now)) << "the other one does not refuse the reply";
    EXPECT_EQ(world.counter(other, "rx_dropped_unknown_id"), 1u);
}

}  // namespace
}  // namespace verbline::cm::test

// SPDX-License-Identifier: BSD-3-Clause
// Messages that come after their time, or to nobody in particular: found by simulation, kept small here.
#include <gtest/gtest.h>

#include "tests/control/cm/world.h"

namespace verbline::cm::test {
namespace {

using enum wire::CmAttribute;

/// A REQ was refused before somebody listened, and then repeated; that REJ is still under way when all is established.
TEST(LateMessages, ARefusalOfTheRequestDoesNotEndWhatWasAccepted) {
    World world(2);
    const auto active = *world.manager(0).connect(world.request(0, 1), world.now);
    const auto request = world.flights.front();
    world.deliver_one();
    const auto refusal = world.flights.front();
    ASSERT_EQ(refusal.attribute(), rej);
    world.flights.clear();
    const auto listener = *world.manager(1).listen(service, exactly, world.now);
    world.deliver(request);
    const auto passive = next<RequestReceived>(*listener, world.now)->endpoint;
    EXPECT_TRUE(passive->reply({.qpn = wire::Qpn{0x200}}, world.now));
    world.deliver_all();
    EXPECT_TRUE(next<ReplyReceived>(*active, world.now));
    world.deliver(refusal);
    EXPECT_FALSE(active->poll(world.now)) << "the reply has come: it is not the request that can be refused";
    EXPECT_TRUE(active->ready_to_use({}, world.now));
    world.deliver(refusal);
    EXPECT_FALSE(active->poll(world.now));
    EXPECT_EQ(active->state(), ConnectionState::established);
    EXPECT_TRUE(active->disconnect({}, world.now));
    world.deliver(refusal);
    EXPECT_FALSE(active->poll(world.now)) << "DREQ is not answered by it";
    EXPECT_EQ(active->state(), ConnectionState::dreq_sent);
    EXPECT_EQ(world.counter(0, "rx_dropped_unexpected"), 3u);
}

/// The peer's queue pair shows up in another REQ while our REP has perhaps been taken: the peer must not stay connected
/// alone.
TEST(LateMessages, AStaleConnectionTakesItsReplyBack) {
    World world(2);
    const auto listener = *world.manager(1).listen(service, exactly, world.now);
    const auto first = *world.manager(0).connect(world.request(0, 1), world.now);
    world.deliver_all();
    const auto passive = next<RequestReceived>(*listener, world.now)->endpoint;
    EXPECT_TRUE(passive->reply({.qpn = wire::Qpn{0x200}}, world.now));
    world.deliver_all();
    EXPECT_TRUE(next<ReplyReceived>(*first, world.now));
    EXPECT_TRUE(first->ready_to_use({}, world.now));
    world.flights.clear();
    const auto second_one = *world.manager(0).connect(world.request(0, 1), world.now);
    world.deliver_all();
    EXPECT_FALSE(listener->poll(world.now));
    const auto rejected = next<Rejected>(*passive, world.now);
    ASSERT_TRUE(rejected);
    EXPECT_EQ(rejected->rejection.reason, wire::CmRejectReason::stale_connection);
    EXPECT_EQ(world.flights.back().attribute(), dreq);
    // Of the two messages the first is lost.
    const auto last = world.flights.back();
    world.flights.clear();
    world.deliver(last);
    EXPECT_TRUE(next<DisconnectRequested>(*first, world.now));
    world.deliver_all();
    world.pass(60 * second);
    EXPECT_FALSE(passive->poll(world.now)) << "it has heard the end";
    EXPECT_EQ(passive->state(), ConnectionState::timewait);
}

/// Ids come again after a restart: what was meant for a connection names a listener now.
TEST(LateMessages, AListenerTakesRequestsOnly) {
    World world(2);
    const auto active = *world.manager(0).connect(world.request(0, 1), world.now);
    const auto listener = *world.manager(0).listen(service, exactly, world.now);
    World::Flight reply{.from = 1, .to = 0};
    const auto id = static_cast<std::uint32_t>(listener->local_id());
    reply.mad = make_mad(wire::CmRep{.local_id = 7, .remote_id = id}, 1);
    world.flights.clear();
    world.deliver(reply);
    EXPECT_FALSE(listener->poll(world.now));
    EXPECT_EQ(world.flights.front().attribute(), rej) << "there is no such connection";
    reply.mad = make_mad(wire::CmSidrRep{.request_id = id}, 1);
    world.deliver(reply);
    EXPECT_FALSE(listener->poll(world.now));
    EXPECT_EQ(world.counter(0, "rx_dropped_unknown_id"), 1u);
}

/// A REQ that came late made another connection over there: it hears that nobody wants it.
TEST(LateMessages, AReplyOfAnotherConnectionIsRefused) {
    World world(2);
    const auto listener = *world.manager(1).listen(service, exactly, world.now);
    const auto active = *world.manager(0).connect(world.request(0, 1), world.now);
    const auto request = world.flights.front();
    world.deliver_one();
    auto first = next<RequestReceived>(*listener, world.now)->endpoint;
    EXPECT_TRUE(first->reply({.qpn = wire::Qpn{0x200}}, world.now));
    world.deliver_all();
    EXPECT_TRUE(next<ReplyReceived>(*active, world.now));
    EXPECT_TRUE(active->reject({.reason = wire::CmRejectReason::consumer}, world.now));
    world.deliver_all();
    EXPECT_TRUE(next<Rejected>(*first, world.now));
    first.reset();
    world.pass(60 * second);
    world.deliver(request);
    const auto again = next<RequestReceived>(*listener, world.now);
    ASSERT_TRUE(again);
    const auto late = again->endpoint;
    EXPECT_TRUE(late->reply({.qpn = wire::Qpn{0x201}}, world.now));
    EXPECT_EQ(world.deliver_one(), rep);
    EXPECT_FALSE(active->poll(world.now));
    EXPECT_EQ(world.deliver_one(), rej);
    const auto rejected = next<Rejected>(*late, world.now);
    ASSERT_TRUE(rejected);
    EXPECT_EQ(rejected->rejection.reason, wire::CmRejectReason::invalid_communication_id);
}

}  // namespace
}  // namespace verbline::cm::test

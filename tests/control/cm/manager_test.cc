// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/manager.h"

#include <gtest/gtest.h>

#include "tests/control/cm/connected.h"
#include "tests/control/cm/world.h"

namespace verbline::cm::test {
namespace {

using enum wire::CmAttribute;

TEST(Manager, Connects) {
    World world(2);
    const auto listener = *world.manager(1).listen(service, ~std::uint64_t{0}, world.now);
    auto request = world.request(0, 1);
    request.private_data = {std::byte{1}, std::byte{2}};
    const auto active = *world.manager(0).connect(request, world.now);
    EXPECT_EQ(active->state(), ConnectionState::req_sent);
    EXPECT_EQ(world.deliver_one(), req);
    ASSERT_EQ(world.node(1).ready.size(), 1u);
    EXPECT_EQ(world.node(1).ready.front(), listener.get());

    const auto asked = next<RequestReceived>(*listener, world.now);
    ASSERT_TRUE(asked);
    EXPECT_EQ(asked->request.qpn, wire::Qpn{0x100});
    EXPECT_EQ(asked->request.primary.local_gid, gid_of(1));
    EXPECT_EQ(asked->request.primary.remote_gid, gid_of(0));
    EXPECT_EQ(asked->request.private_data.size(), 92u);
    EXPECT_EQ(asked->request.private_data[1], std::byte{2});
    EXPECT_FALSE(listener->poll(world.now));

    EXPECT_TRUE(asked->endpoint->reply({.qpn = wire::Qpn{0x200}, .psn = wire::Psn{9}}, world.now));
    EXPECT_EQ(world.deliver_one(), rep);
    const auto replied = next<ReplyReceived>(*active, world.now);
    ASSERT_TRUE(replied);
    EXPECT_EQ(replied->reply.qpn, wire::Qpn{0x200});
    EXPECT_EQ(replied->reply.psn, wire::Psn{9});
    EXPECT_EQ(active->remote_id(), asked->endpoint->local_id());
    EXPECT_TRUE(active->ready_to_use({}, world.now));
    EXPECT_EQ(world.deliver_one(), rtu);
    EXPECT_TRUE(next<Established>(*asked->endpoint, world.now));
    EXPECT_FALSE(asked->endpoint->poll(world.now));
    EXPECT_EQ(asked->endpoint->state(), ConnectionState::established);
}

TEST(Manager, RejectsRequestsWithoutAListener) {
    World world(2);
    const auto active = *world.manager(0).connect(world.request(0, 1), world.now);
    world.deliver_all();
    const auto rejected = next<Rejected>(*active, world.now);
    ASSERT_TRUE(rejected);
    EXPECT_EQ(rejected->rejection.reason, wire::CmRejectReason::invalid_service_id);
    EXPECT_EQ(active->state(), ConnectionState::idle);
}

TEST(Manager, ListenersOfTheSameServiceExcludeEachOther) {
    World world(1);
    auto& manager = world.manager(0);
    auto one = *manager.listen(service, ~std::uint64_t{0}, world.now);
    EXPECT_EQ(manager.listen(service, ~std::uint64_t{0}, world.now).error().code, EADDRINUSE);
    EXPECT_EQ(manager.listen(wire::CmServiceId{0x0106'0000}, ~std::uint64_t{0xffff}, world.now).error().code,
              EADDRINUSE);
    one.reset();
    EXPECT_TRUE(manager.listen(wire::CmServiceId{0x0106'0000}, ~std::uint64_t{0xffff}, world.now));
    EXPECT_EQ(manager.size(), 0u);
}

TEST(Manager, RetransmitsRequestsUntilTheyTimeOut) {
    World world(2);
    auto request = world.request(0, 1);
    request.max_cm_retries = 3;
    const auto active = *world.manager(0).connect(request, world.now);
    for (unsigned i = 0; i < 3; ++i) {
        world.pass(10 * second);
        EXPECT_FALSE(active->poll(world.now));
    }
    EXPECT_EQ(world.counter(0, "tx_req"), 4u);
    world.pass(10 * second);
    const auto unanswered = next<Unanswered>(*active, world.now);
    ASSERT_TRUE(unanswered);
    EXPECT_EQ(unanswered->what, Unanswered::What::request);
    EXPECT_EQ(world.flights.back().attribute(), rej);
}

TEST(Manager, AnswersRepeatedRequestsAndReplies) {
    World world(2);
    const auto listener = *world.manager(1).listen(service, ~std::uint64_t{0}, world.now);
    const auto active = *world.manager(0).connect(world.request(0, 1), world.now);
    const auto asking = world.flights.front();
    world.deliver(asking);
    world.deliver_all();
    const auto passive = next<RequestReceived>(*listener, world.now)->endpoint;
    EXPECT_FALSE(listener->poll(world.now)) << "the second REQ is the first one again";
    EXPECT_FALSE(passive->poll(world.now)) << "nor has anybody thought of an answer";
    EXPECT_TRUE(passive->reply({.qpn = wire::Qpn{0x200}}, world.now));
    world.flights.clear();
    world.deliver(asking);
    EXPECT_FALSE(passive->poll(world.now));
    ASSERT_EQ(world.flights.size(), 1u);
    const auto replying = world.flights.front();
    EXPECT_EQ(world.deliver_one(), rep);
    EXPECT_TRUE(next<ReplyReceived>(*active, world.now));
    EXPECT_TRUE(active->ready_to_use({}, world.now));
    world.flights.clear();
    world.deliver(replying);
    EXPECT_FALSE(active->poll(world.now));
    EXPECT_EQ(world.deliver_one(), rtu);
    EXPECT_TRUE(next<Established>(*passive, world.now));
}

TEST(Manager, ARefusalIsRepeatedWhenTheRequestIs) {
    World world(2);
    const auto listener = *world.manager(1).listen(service, ~std::uint64_t{0}, world.now);
    const auto active = *world.manager(0).connect(world.request(0, 1), world.now);
    world.deliver_all();
    next<RequestReceived>(*listener, world.now);  // dropped at once
    EXPECT_EQ(world.flights.front().attribute(), rej);
    world.flights.clear();
    world.pass(7 * second);
    EXPECT_FALSE(active->poll(world.now));
    EXPECT_EQ(world.deliver_one(), req);
    EXPECT_FALSE(listener->poll(world.now));
    EXPECT_EQ(world.deliver_one(), rej);
    const auto rejected = next<Rejected>(*active, world.now);
    ASSERT_TRUE(rejected);
    EXPECT_EQ(rejected->rejection.reason, wire::CmRejectReason::consumer);
    for (int i = 0; i < 20; ++i) world.pass(second);
    EXPECT_EQ(world.manager(1).size(), 1u) << "the listener";
}

TEST(Manager, WaitsLongerAfterAnMra) {
    World world(2);
    const auto listener = *world.manager(1).listen(service, ~std::uint64_t{0}, world.now);
    const auto active = *world.manager(0).connect(world.request(0, 1), world.now);
    world.deliver_all();
    const auto passive = next<RequestReceived>(*listener, world.now)->endpoint;
    EXPECT_TRUE(passive->delay(24, {}, world.now));
    EXPECT_EQ(world.deliver_one(), mra);
    const auto delayed = next<Delayed>(*active, world.now);
    ASSERT_TRUE(delayed);
    EXPECT_GT(delayed->wait, 60 * second);
    world.pass(60 * second);
    EXPECT_FALSE(active->poll(world.now));
    EXPECT_TRUE(world.flights.empty());
    EXPECT_EQ(active->state(), ConnectionState::mra_req_received);
    EXPECT_TRUE(passive->reply({.qpn = wire::Qpn{0x200}}, world.now));
    world.deliver_all();
    EXPECT_TRUE(next<ReplyReceived>(*active, world.now));
    EXPECT_TRUE(active->delay(20, {}, world.now));
    EXPECT_EQ(world.deliver_one(), mra);
    EXPECT_TRUE(next<Delayed>(*passive, world.now));
    EXPECT_TRUE(active->ready_to_use({}, world.now));
    world.deliver_all();
    EXPECT_TRUE(next<Established>(*passive, world.now));
}

TEST(Manager, AStaleConnectionGivesWay) {
    Connected c;
    // Node 0 has forgotten everything, and asks with the same queue pair.
    World::Node reborn(c.world, 0);
    auto request = c.world.request(0, 1);
    request.psn = wire::Psn{1000};
    const auto again = *reborn.manager->connect(request, c.world.now + 1);
    auto flight = c.world.flights.front();
    c.world.flights.clear();
    // The seeds are the same, and so are the ids: only what the REQ says differs.
    c.world.deliver(flight);
    EXPECT_FALSE(c.listener->poll(c.world.now));
    EXPECT_FALSE(c.passive->poll(c.world.now));
    EXPECT_EQ(c.passive->state(), ConnectionState::dreq_sent);
    ASSERT_EQ(c.world.flights.size(), 2u);
    EXPECT_EQ(c.world.flights[0].attribute(), rej);
    EXPECT_EQ(c.world.flights[1].attribute(), dreq);
    EXPECT_EQ(c.world.counter(1, "rejected_stale"), 1u);
    // And once more with another id.
    const auto third = *reborn.manager->connect(request, c.world.now + 2);
    flight = c.world.flights.back();
    c.world.deliver(flight);
    EXPECT_TRUE(next<RequestReceived>(*c.listener, c.world.now));
}

TEST(Manager, AQueuePairConnectedElsewhereIsStale) {
    Connected c;
    const auto second_one = *c.world.manager(0).connect(c.world.request(0, 1), c.world.now);
    c.world.deliver_all();
    EXPECT_FALSE(c.listener->poll(c.world.now));
    EXPECT_EQ(c.world.deliver_one(), rej);
    const auto rejected = next<Rejected>(*second_one, c.world.now);
    ASSERT_TRUE(rejected);
    EXPECT_EQ(rejected->rejection.reason, wire::CmRejectReason::stale_connection);
    EXPECT_FALSE(c.passive->poll(c.world.now));
    EXPECT_EQ(c.passive->state(), ConnectionState::dreq_sent) << "and the old one is closed";
}

TEST(Manager, LoadsAlternatePaths) {
    Connected c;
    ConnectionPath path = c.world.request(0, 1).primary;
    path.flow_label = 0x12345;
    EXPECT_TRUE(c.active->load_alternate(path, {}, c.world.now));
    const auto proposal = c.world.flights.front();
    EXPECT_EQ(c.world.deliver_one(), lap);
    const auto asked = next<AlternateRequested>(*c.passive, c.world.now);
    ASSERT_TRUE(asked);
    EXPECT_EQ(asked->alternate.flow_label, 0x12345u);
    EXPECT_EQ(asked->alternate.local_gid, gid_of(1));
    EXPECT_TRUE(c.passive->reply_alternate({.status = wire::AprStatus::loaded}, c.world.now));
    EXPECT_EQ(c.world.deliver_one(), apr);
    EXPECT_TRUE(next<AlternateReplied>(*c.active, c.world.now));
    c.world.deliver(proposal);
    EXPECT_FALSE(c.passive->poll(c.world.now));
    EXPECT_EQ(c.world.deliver_one(), apr) << "the same answer again";
    c.world.pass(60 * second);
    EXPECT_FALSE(c.passive->poll(c.world.now));
    EXPECT_FALSE(c.world.manager(1).deadline());
}

TEST(Manager, PeersThatAskEachOtherBecomeOneConnection) {
    World world(2);
    auto request0 = world.request(0, 1), request1 = world.request(1, 0);
    request0.peer_to_peer = request1.peer_to_peer = true;
    const auto low = *world.manager(0).connect(request0, world.now);
    world.deliver_all();
    EXPECT_FALSE(low->poll(world.now)) << "nobody there is no answer yet";
    EXPECT_EQ(low->state(), ConnectionState::req_sent);
    const auto high = *world.manager(1).connect(request1, world.now);
    world.pass(7 * second);
    EXPECT_FALSE(low->poll(world.now));
    world.deliver_all();
    EXPECT_FALSE(high->poll(world.now));
    const auto asked = next<RequestReceived>(*low, world.now);
    ASSERT_TRUE(asked);
    EXPECT_EQ(asked->endpoint, low);
    EXPECT_TRUE(low->reply({.qpn = wire::Qpn{0x100}}, world.now));
    world.deliver_all();
    EXPECT_TRUE(next<ReplyReceived>(*high, world.now));
    EXPECT_TRUE(high->ready_to_use({}, world.now));
    world.deliver_all();
    EXPECT_TRUE(next<Established>(*low, world.now));
    EXPECT_EQ(world.counter(0, "peer_to_peer_matches"), 1u);
}

TEST(Manager, CarriesAnXrcTargetsQueuePair) {
    World world(2);
    const auto listener = *world.manager(1).listen(service, ~std::uint64_t{0}, world.now);
    auto request = world.request(0, 1);
    request.transport = Transport::xrc;
    const auto active = *world.manager(0).connect(request, world.now);
    world.deliver_all();
    const auto asked = next<RequestReceived>(*listener, world.now);
    EXPECT_EQ(asked->request.transport, Transport::xrc);
    EXPECT_TRUE(asked->endpoint->reply({.qpn = wire::Qpn{0x200}}, world.now));
    const auto rep_sent = wire::CmRep::parse(std::span(world.flights.front().mad).last<wire::cm_message_size>());
    EXPECT_EQ(rep_sent->eecn, 0x200u);
    EXPECT_EQ(rep_sent->qpn, wire::Qpn{});
    EXPECT_TRUE(rep_sent->shared_receive_queue);
    world.deliver_all();
    EXPECT_EQ(next<ReplyReceived>(*active, world.now)->reply.qpn, wire::Qpn{0x200});
    EXPECT_TRUE(active->ready_to_use({}, world.now));
    EXPECT_TRUE(active->disconnect({}, world.now));
    world.deliver_all();
    EXPECT_TRUE(next<Established>(*asked->endpoint, world.now));
    EXPECT_TRUE(next<DisconnectRequested>(*asked->endpoint, world.now));
}

TEST(Manager, ResolvesDatagramServices) {
    World world(2);
    auto listener = *world.manager(1).listen(service, ~std::uint64_t{0}, world.now);
    ServiceRequest request{.path = world.request(0, 1).primary, .service = service};
    const auto client = *world.manager(0).resolve(request, world.now);
    const auto question = world.flights.front();
    world.deliver_all();
    auto asked = next<ServiceRequestReceived>(*listener, world.now);
    ASSERT_TRUE(asked);
    EXPECT_TRUE(asked->endpoint->respond({.qpn = wire::Qpn{0x300}, .qkey = wire::QKey{0x0123'4567}}, world.now));
    asked->endpoint.reset();
    world.deliver_all();
    const auto answer = next<ServiceReplyReceived>(*client, world.now);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->reply.qpn, wire::Qpn{0x300});
    EXPECT_EQ(answer->reply.qkey, wire::QKey{0x0123'4567});
    world.deliver(question);
    EXPECT_FALSE(listener->poll(world.now));
    EXPECT_EQ(world.deliver_one(), sidr_rep) << "the same answer again";
    listener.reset();
    for (int i = 0; i < 3; ++i) world.pass(10 * second);
    EXPECT_EQ(world.manager(1).size(), 0u);
}

/// Only where all versions have their id is known of such messages.
TEST(Manager, RefusesRequestsOfAnotherClassVersion) {
    World world(2);
    const auto deliver = [&](mad::MadBuffer mad) {
        mad[2] = std::byte{wire::cm_class_version + 1};
        world.deliver({.from = 0, .to = 1, .mad = mad});
    };
    deliver(make_mad(wire::CmReq{.local_id = 7}, 8));
    ASSERT_EQ(world.flights.size(), 1u);
    const auto refusal = *ReceivedMessage::parse(world.flights.front().mad);
    ASSERT_EQ(refusal.attribute(), rej);
    EXPECT_EQ(refusal.transaction(), 8u);
    const auto content = refusal.as<wire::CmRej>();
    EXPECT_EQ(content.remote_id, 7u);
    EXPECT_EQ(content.reason, wire::CmRejectReason::class_version);
    EXPECT_EQ(content.information_length, 1u);
    EXPECT_EQ(content.information[0], std::byte{wire::cm_class_version});
    world.flights.clear();
    deliver(make_mad(wire::CmSidrReq{.request_id = 9}, 10));
    ASSERT_EQ(world.flights.size(), 1u);
    const auto answer = ReceivedMessage::parse(world.flights.front().mad)->as<wire::CmSidrRep>();
    EXPECT_EQ(answer.request_id, 9u);
    EXPECT_EQ(answer.status, wire::SidrStatus::unsupported_version);
    world.flights.clear();
    deliver(make_mad(wire::CmDreq{}, 11));
    EXPECT_TRUE(world.flights.empty());
    EXPECT_EQ(world.counter(1, "rejected_class_version"), 2u);
    EXPECT_EQ(world.counter(1, "rx_dropped_class_version"), 3u);
}

}  // namespace
}  // namespace verbline::cm::test

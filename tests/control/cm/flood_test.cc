// SPDX-License-Identifier: BSD-3-Clause
// Peers that ask more than anybody could answer, and for longer than anybody would wait.
#include <vector>

#include <gtest/gtest.h>

#include "control/cm/convert.h"
#include "tests/control/cm/world.h"

namespace verbline::cm::test {
namespace {

using enum wire::CmAttribute;

constexpr std::uint8_t as_long_as_can_be = 31;  ///< 2 h 26 min

/// Node 0 listens; strangers are nobody's nodes: what is sent to them stays in `flights`.
struct Flood : ::testing::Test {
    World world{2, [](unsigned, Manager::Options& options) {
                    options.most_half_open = 8;
                    options.most_closing = 8;
                }};
    Manager& server = world.manager(0);
    EndpointPointer listener = *server.listen(service, exactly, world.now);
    std::uint32_t last_id = 0;

    Request request_of(unsigned stranger) {
        auto request = world.request(stranger, 0);
        request.qpn = wire::Qpn{0x1000 + ++last_id};
        return request;
    }
    /// A REQ of a stranger arrives; what the listener makes of it.
    EndpointPointer ask(unsigned stranger, const Request& request) {
        auto req = to_message(request, wire::Guid{0x9000 + stranger});
        req.local_id = last_id;
        return deliver(stranger, make_mad(req, last_id));
    }
    EndpointPointer ask(unsigned stranger) { return ask(stranger, request_of(stranger)); }
    EndpointPointer ask_for_datagrams(unsigned stranger) {
        auto req = to_message(ServiceRequest{.service = service});
        req.request_id = ++last_id;
        return deliver(stranger, make_mad(req, last_id));
    }
    EndpointPointer deliver(unsigned stranger, const mad::MadBuffer& mad) {
        server.receive(World::peer(stranger), mad, world.now);
        const auto event = listener->poll(world.now);
        if (!event) return nullptr;
        if (const auto* const question = std::get_if<ServiceRequestReceived>(&*event)) return question->endpoint;
        return std::get<RequestReceived>(*event).endpoint;
    }
    /// The reason of the REJ that was sent last, to a stranger.
    wire::CmRejectReason refusal() {
        if (world.flights.empty() || world.flights.back().attribute() != rej) return {};
        return ReceivedMessage::parse(world.flights.back().mad)->as<wire::CmRej>().reason;
    }
};

TEST_F(Flood, DeclinedRequestsAreAnsweredAndLeaveNothing) {
    for (unsigned i = 0; i < 100; ++i) {
        auto request = request_of(9);
        request.remote_response_timeout = request.local_response_timeout = as_long_as_can_be;
        const auto endpoint = ask(9, request);
        ASSERT_NE(endpoint, nullptr);
        ASSERT_TRUE(endpoint->decline(Rejection{.reason = wire::CmRejectReason::consumer}, world.now));
        EXPECT_EQ(refusal(), wire::CmRejectReason::consumer);
        EXPECT_FALSE(endpoint->decline(Rejection{}, world.now)) << "once";
    }
    EXPECT_EQ(world.flights.size(), 100u);
    EXPECT_EQ(server.size(), 1u) << "the listener";
    EXPECT_FALSE(server.deadline());
}

TEST_F(Flood, ADeclinedRequestMayComeAgain) {
    auto request = request_of(9);
    ASSERT_TRUE(ask(9, request)->decline(Rejection{.reason = wire::CmRejectReason::consumer}, world.now));
    EXPECT_NE(ask(9, request), nullptr) << "as a new one";
    EXPECT_EQ(world.counter(0, "rx_duplicate_req"), 0u);
}

TEST_F(Flood, DeclinedDatagramRequestsLeaveNothing) {
    for (unsigned i = 0; i < 100; ++i) {
        const auto endpoint = ask_for_datagrams(9);
        ASSERT_NE(endpoint, nullptr);
        ASSERT_TRUE(endpoint->decline(ServiceReply{.status = wire::SidrStatus::rejected}, world.now));
    }
    EXPECT_EQ(world.counter(0, "tx_sidr_rep"), 100u);
    EXPECT_EQ(server.size(), 1u);
}

TEST_F(Flood, OnePortCannotTakeAllThatMayBeHalfOpen) {
    std::vector<EndpointPointer> open;
    while (auto endpoint = ask(9)) open.push_back(std::move(endpoint));
    EXPECT_EQ(open.size(), 4u) << "half of 8";
    EXPECT_EQ(refusal(), wire::CmRejectReason::no_resources);
    EXPECT_EQ(world.counter(0, "rejected_half_open"), 1u);
    EXPECT_EQ(world.counter(0, "half_open"), 4u);
    EXPECT_NE(ask(10), nullptr) << "somebody else";
}

TEST_F(Flood, AnsweredRepliesStayHalfOpenUntilThePeerShowsItself) {
    std::vector<EndpointPointer> open;
    for (int i = 0; i < 4; ++i) open.push_back(ask(9));
    ASSERT_TRUE(open[0]->reply({.qpn = wire::Qpn{5}}, world.now));
    EXPECT_EQ(ask(9), nullptr);
    ASSERT_TRUE(open[0]->established(world.now));
    EXPECT_NE(ask(9), nullptr);
}

TEST_F(Flood, RejectedAndDroppedEndpointsAreNotHalfOpen) {
    std::vector<EndpointPointer> open;
    for (int i = 0; i < 4; ++i) open.push_back(ask(9));
    ASSERT_TRUE(open[0]->reject({.reason = wire::CmRejectReason::consumer}, world.now));
    open[1].reset();
    EXPECT_EQ(world.counter(0, "half_open"), 2u);
    open.push_back(ask(9));
    open.push_back(ask(9));
    EXPECT_NE(open.back(), nullptr);
    EXPECT_EQ(ask(9), nullptr);
}

TEST_F(Flood, DatagramRequestsCountAsHalfOpen) {
    std::vector<EndpointPointer> open;
    while (auto endpoint = ask_for_datagrams(9)) open.push_back(std::move(endpoint));
    EXPECT_EQ(open.size(), 4u);
    ASSERT_EQ(world.flights.back().attribute(), sidr_rep);
    EXPECT_EQ(ReceivedMessage::parse(world.flights.back().mad)->as<wire::CmSidrRep>().status, wire::SidrStatus::no_qp);
    ASSERT_TRUE(open.front()->respond({}, world.now));
    EXPECT_NE(ask_for_datagrams(9), nullptr);
}

/// What is refused may be repeated, and is refused again: for so many, not for all.
TEST_F(Flood, RefusalsOfDroppedEndpointsAreKeptForSome) {
    for (int i = 0; i < 100; ++i) ask(9).reset();
    EXPECT_EQ(world.counter(0, "tx_rej"), 100u) << "all are answered";
    EXPECT_EQ(world.counter(0, "closing"), 4u);
    EXPECT_EQ(world.counter(0, "closings_cut_short"), 96u);
    EXPECT_EQ(server.size(), 5u) << "and the listener";
    world.pass(60 * second);
    EXPECT_EQ(server.size(), 1u);
    EXPECT_EQ(world.counter(0, "closing"), 0u);
}

TEST_F(Flood, RefusalsAreKeptNoLongerThanWeGrant) {
    auto request = request_of(9);
    request.remote_response_timeout = request.local_response_timeout = as_long_as_can_be;
    request.primary.packet_lifetime = as_long_as_can_be - 1;
    ask(9, request).reset();
    EXPECT_EQ(server.size(), 2u);
    EXPECT_EQ(world.counter(0, "rx_times_cut"), 1u);
    world.pass(60 * second);
    EXPECT_EQ(server.size(), 1u);
}

TEST_F(Flood, RepliesWithoutRtuTimeOut) {
    auto request = request_of(9);
    request.local_response_timeout = as_long_as_can_be;
    request.primary.packet_lifetime = as_long_as_can_be - 1;
    const auto endpoint = ask(9, request);
    ASSERT_TRUE(endpoint->reply({.qpn = wire::Qpn{5}}, world.now));
    for (int i = 0; i < 16; ++i) {
        world.pass(30 * second);
        (void)endpoint->poll(world.now);
    }
    EXPECT_EQ(endpoint->state(), ConnectionState::idle);
    EXPECT_EQ(world.counter(0, "half_open"), 0u);
}

/// An established connection of node 0 to node 1 whose peer asks for a long time to die.
TEST_F(Flood, TimewaitIsNoLongerThanWeGrant) {
    const auto other = *world.manager(1).listen(service, exactly, world.now);
    const auto active = *server.connect(world.request(0, 1), world.now);
    world.deliver_all();
    const auto passive = next<RequestReceived>(*other, world.now)->endpoint;
    ASSERT_TRUE(passive->reply({.qpn = wire::Qpn{5}, .target_ack_delay = as_long_as_can_be}, world.now));
    world.deliver_all();
    ASSERT_TRUE(next<ReplyReceived>(*active, world.now));
    ASSERT_TRUE(active->ready_to_use({}, world.now));
    EXPECT_EQ(world.counter(0, "rx_times_cut"), 1u);
    world.deliver_all();
    ASSERT_TRUE(active->disconnect({}, world.now));
    world.deliver_all();
    ASSERT_TRUE(next<Established>(*passive, world.now));
    world.deliver_all();
    ASSERT_TRUE(next<DisconnectRequested>(*passive, world.now));
    world.deliver_all();
    ASSERT_TRUE(next<Disconnected>(*active, world.now));
    EXPECT_EQ(active->state(), ConnectionState::timewait);
    world.pass(15 * second);
    EXPECT_TRUE(next<TimewaitExited>(*active, world.now));
}

TEST_F(Flood, PeersCannotDelayUsForLongerThanWeGrant) {
    const auto other = *world.manager(1).listen(service, exactly, world.now);
    const auto active = *server.connect(world.request(0, 1), world.now);
    world.deliver_all();
    const auto passive = next<RequestReceived>(*other, world.now)->endpoint;
    ASSERT_TRUE(passive->delay(as_long_as_can_be, {}, world.now));
    world.deliver_all();
    const auto delayed = next<Delayed>(*active, world.now);
    ASSERT_TRUE(delayed);
    EXPECT_LE(delayed->wait, 150 * second);
    EXPECT_GE(delayed->wait, 68 * second) << "as Linux asks for";
}

}  // namespace
}  // namespace verbline::cm::test

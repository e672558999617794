// SPDX-License-Identifier: BSD-3-Clause
// Node 0's requests come before node 1's program, which has bound the service id, listens.
#include <gtest/gtest.h>

#include "tests/control/cm/world.h"

namespace verbline::cm::test {
namespace {

using enum wire::CmAttribute;

class EarlyRequest : public testing::Test {
protected:
    bool bound = true;
    World world{3, [this](unsigned, Manager::Options& options) {
                    options.bound = [this](wire::CmServiceId id) { return bound && id == service; };
                }};
    Manager& server = world.manager(1);
};

TEST_F(EarlyRequest, WaitsForTheListener) {
    const auto active = *world.manager(0).connect(world.request(0, 1), world.now);
    world.deliver_all();
    EXPECT_FALSE(active->poll(world.now)) << "no REJ";
    world.pass(longest_early_wait - 1);
    const auto other = *server.listen(wire::CmServiceId{0x0106'1c07}, exactly, world.now);
    EXPECT_FALSE(other->poll(world.now));
    const auto listener = *server.listen(service, exactly, world.now);
    ASSERT_EQ(world.node(1).ready.size(), 1u);
    EXPECT_EQ(world.node(1).ready.front(), listener.get());
    EXPECT_TRUE(next<RequestReceived>(*listener, world.now));
    EXPECT_EQ(world.counter(1, "rx_early"), 1u);
}

TEST_F(EarlyRequest, IsRejectedIfNobodyListensInTime) {
    const auto active = *world.manager(0).connect(world.request(0, 1), world.now);
    world.deliver_all();
    EXPECT_EQ(server.deadline(), world.now + longest_early_wait);
    world.pass(longest_early_wait);
    world.deliver_all();
    const auto rejected = next<Rejected>(*active, world.now);
    ASSERT_TRUE(rejected);
    EXPECT_EQ(rejected->rejection.reason, wire::CmRejectReason::invalid_service_id);
    EXPECT_EQ(server.deadline(), std::nullopt);
    EXPECT_EQ(world.counter(1, "rejected_unknown_service"), 1u);
}

TEST_F(EarlyRequest, IsRejectedAtOnceIfNobodyHasBound) {
    bound = false;
    const auto active = *world.manager(0).connect(world.request(0, 1), world.now);
    world.deliver_all();
    EXPECT_TRUE(next<Rejected>(*active, world.now));
}

TEST_F(EarlyRequest, RetransmissionsOfItAreTheSameRequest) {
    const auto active = *world.manager(0).connect(world.request(0, 1), world.now);
    const auto req = world.flights.front();
    world.deliver_all();
    world.deliver(req);
    const auto listener = *server.listen(service, exactly, world.now);
    EXPECT_TRUE(next<RequestReceived>(*listener, world.now));
    EXPECT_FALSE(listener->poll(world.now));
}

TEST_F(EarlyRequest, OfSidrWaitsAsWell) {
    const auto client = *world.manager(0).resolve({.path = world.request(0, 1).primary, .service = service}, world.now);
    world.deliver_all();
    EXPECT_FALSE(client->poll(world.now));
    const auto listener = *server.listen(service, exactly, world.now);
    EXPECT_TRUE(next<ServiceRequestReceived>(*listener, world.now));
    const auto late = *world.manager(2).resolve({.path = world.request(2, 0).primary, .service = service}, world.now);
    world.deliver_all();
    world.pass(longest_early_wait);
    world.deliver_all();
    const auto answer = next<ServiceReplyReceived>(*late, world.now);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->reply.status, wire::SidrStatus::unsupported_service);
}

TEST_F(EarlyRequest, OfOnePortLeaveRoomForOthers) {
    std::vector<EndpointPointer> endpoints;
    for (unsigned i = 0; i < most_early; ++i) {
        auto request = world.request(0, 1);
        request.qpn = wire::Qpn{0x1000 + i};
        endpoints.push_back(*world.manager(0).connect(request, world.now));
    }
    world.deliver_all();
    EXPECT_EQ(world.counter(1, "rx_early"), most_early / 2);
    EXPECT_EQ(world.counter(1, "rejected_unknown_service"), most_early / 2);
    const auto other = *world.manager(2).connect(world.request(2, 1), world.now);
    world.deliver_all();
    EXPECT_EQ(world.counter(1, "rx_early"), most_early / 2 + 1);
}

}  // namespace
}  // namespace verbline::cm::test

// SPDX-License-Identifier: BSD-3-Clause
// MADs that come together: each does what it would do alone, in their order.
#include <array>

#include <gtest/gtest.h>

#include "tests/control/cm/world.h"

namespace verbline::cm::test {
namespace {

/// All that is under way to a node, at once; how many that were.
std::size_t deliver_together(World& world, unsigned to) {
    const auto flights = std::exchange(world.flights, {});
    std::vector<mad::GmpArrival> burst;
    for (const auto& flight : flights) {
        if (flight.to == to) burst.push_back(mad::GmpArrival::of(World::peer(flight.from), flight.mad));
    }
    world.manager(to).receive(burst, world.now);
    return burst.size();
}

TEST(Burst, ManyConnectAndDisconnectTogether) {
    constexpr std::size_t count = 100;
    World world(2);
    const auto listener = *world.manager(1).listen(service, ~std::uint64_t{0}, world.now);
    std::vector<EndpointPointer> active, passive;
    for (std::uint32_t i = 0; i < count; ++i) {
        auto request = world.request(0, 1);
        request.qpn = wire::Qpn{0x1000 + i};
        active.push_back(*world.manager(0).connect(request, world.now));
    }
    EXPECT_EQ(deliver_together(world, 1), count);
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto asked = next<RequestReceived>(*listener, world.now);
        ASSERT_TRUE(asked);
        EXPECT_EQ(asked->request.qpn, wire::Qpn{0x1000 + i}) << "in their order";
        passive.push_back(asked->endpoint);
        EXPECT_TRUE(passive.back()->reply({.qpn = wire::Qpn{0x2000 + i}}, world.now));
    }
    EXPECT_EQ(deliver_together(world, 0), count);
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto replied = next<ReplyReceived>(*active[i], world.now);
        ASSERT_TRUE(replied);
        EXPECT_EQ(replied->reply.qpn, wire::Qpn{0x2000 + i});
        EXPECT_TRUE(active[i]->ready_to_use({}, world.now));
    }
    EXPECT_EQ(deliver_together(world, 1), count);
    for (const auto& endpoint : passive) EXPECT_TRUE(next<Established>(*endpoint, world.now));
    active.clear();
    EXPECT_EQ(deliver_together(world, 1), count);
    for (const auto& endpoint : passive) EXPECT_TRUE(next<DisconnectRequested>(*endpoint, world.now));
}

TEST(Burst, AnEndpointGetsItsMessagesInTheirOrder) {
    World world(2);
    const auto listener = *world.manager(1).listen(service, ~std::uint64_t{0}, world.now);
    const auto active = *world.manager(0).connect(world.request(0, 1), world.now);
    const auto req = world.flights.front();
    EXPECT_EQ(deliver_together(world, 1), 1u);
    const auto passive = next<RequestReceived>(*listener, world.now)->endpoint;
    EXPECT_TRUE(passive->reply({.qpn = wire::Qpn{0x200}}, world.now));
    world.deliver_all();
    (void)active->poll(world.now);
    EXPECT_TRUE(active->ready_to_use({}, world.now));
    EXPECT_TRUE(active->disconnect({}, world.now));
    world.flights.push_front(req);  // found by its remote end, as the others by id
    EXPECT_EQ(deliver_together(world, 1), 3u);
    EXPECT_TRUE(next<Established>(*passive, world.now));
    EXPECT_TRUE(next<DisconnectRequested>(*passive, world.now));
    EXPECT_EQ(world.counter(1, "rx_duplicate_req"), 1u);
}

TEST(Burst, MalformedAndUnknownMessagesAreCountedAmongOthers) {
    World world(2);
    const auto question = *world.manager(0).resolve(
        {.path = world.request(0, 1).primary, .service = service, .max_cm_retries = 1}, world.now);
    const auto sidr_req = world.flights.front().mad;
    const mad::MadBuffer nothing{};
    const auto stray = make_mad(wire::CmRtu{.local_id = 7, .remote_id = 9}, 1);
    const wire::CmRej gone{.local_id = 5, .information_length = 8, .reason = wire::CmRejectReason::timeout};
    const auto taken_back = make_mad(gone, 1);
    const auto from = World::peer(0);
    const std::array<mad::GmpArrival, 4> burst{mad::GmpArrival::of(from, nothing), mad::GmpArrival::of(from, stray),
                                               mad::GmpArrival::of(from, taken_back),
                                               mad::GmpArrival::of(from, sidr_req)};
    world.manager(1).receive(burst, world.now);
    EXPECT_EQ(world.counter(1, "rx_dropped_malformed"), 1u);
    EXPECT_EQ(world.counter(1, "rx_dropped_unknown_id"), 2u);
    EXPECT_EQ(world.counter(1, "rejected_unknown_service"), 1u);
    world.manager(1).receive({}, world.now);
}

}  // namespace
}  // namespace verbline::cm::test

// SPDX-License-Identifier: BSD-3-Clause
// Connection managers on machines that are suspended: minutes to months pass between two looks at the clock.
#include <array>
#include <functional>
#include <memory>

#include <gtest/gtest.h>

#include "tests/control/cm/world.h"

namespace verbline::cm::test::long_stop {
namespace {

constexpr Time minute = 60 * second, hour = 60 * minute;

/// How far each conversation has got when the machines stop.
enum class Stage : std::uint8_t {
    request_sent,
    request_received,
    reply_sent,
    reply_received,
    established,
    disconnecting,
    closing,  ///< TIMEWAIT
    service_request_sent,
    service_request_received,
};

class LongStop : public ::testing::TestWithParam<std::tuple<Stage, Time>> {
protected:
    void bring_to(Stage stage) {
        if (stage >= Stage::service_request_sent) return bring_service_request_to(stage);
        active = *world.manager(0).connect(world.request(0, 1), world.now);
        if (stage == Stage::request_sent) return;
        world.deliver_all();
        passive = next<RequestReceived>(*listener, world.now)->endpoint;
        if (stage == Stage::request_received) return;
        ASSERT_TRUE(passive->reply({.qpn = wire::Qpn{0x200}}, world.now));
        if (stage == Stage::reply_sent) return;
        world.deliver_all();
        ASSERT_TRUE(next<ReplyReceived>(*active, world.now));
        if (stage == Stage::reply_received) return;
        ASSERT_TRUE(active->ready_to_use({}, world.now));
        world.deliver_all();
        ASSERT_TRUE(next<Established>(*passive, world.now));
        if (stage == Stage::established) return;
        ASSERT_TRUE(active->disconnect({}, world.now));
        if (stage == Stage::disconnecting) return;
        world.deliver_all();
        EXPECT_TRUE(next<DisconnectRequested>(*passive, world.now));
        world.deliver_all();
        EXPECT_TRUE(next<Disconnected>(*active, world.now));
    }
    void bring_service_request_to(Stage stage) {
        const auto request = world.request(0, 1);
        active = *world.manager(0).resolve({.path = request.primary, .service = service}, world.now);
        if (stage == Stage::service_request_sent) return;
        world.deliver_all();
        passive = next<ServiceRequestReceived>(*listener, world.now)->endpoint;
    }
    /// One look at the clock; what was sent is lost. Each side sends one message at most, however much time has passed.
    void look() {
        world.pass(std::get<Time>(GetParam()));
        drain();
        EXPECT_LE(world.flights.size(), 2u) << "what was missed is not made up for";
        world.flights.clear();
        for (const unsigned node : {0u, 1u}) {
            const auto deadline = world.manager(node).deadline();
            EXPECT_TRUE(!deadline || *deadline > world.now - hour) << "it would never sleep again";
        }
    }
    void drain() {
        for (const auto& endpoint : {active, passive}) {
            while (endpoint != nullptr && endpoint->poll(world.now)) ++events;
        }
    }
    static bool over(const EndpointPointer& endpoint) {
        return endpoint == nullptr || endpoint->state() == ConnectionState::idle;
    }

    World world{2};
    EndpointPointer listener = *world.manager(1).listen(service, exactly, world.now);
    EndpointPointer active, passive;
    unsigned events = 0;
};

/// Fifteen repeats, the error, and TIMEWAIT: each takes one look, whatever the clock says.
TEST_P(LongStop, WithoutThePeerEveryConversationEndsAndSendsLittle) {
    const auto stage = std::get<Stage>(GetParam());
    bring_to(stage);
    world.flights.clear();
    for (int looks = 0; looks < 20; ++looks) look();
    // An open connection has no limit, nor has a user who is asked.
    const bool active_stays = stage == Stage::reply_received || stage == Stage::established;
    const bool passive_stays = stage == Stage::request_received || stage == Stage::established ||
                               stage == Stage::disconnecting || stage == Stage::service_request_received;
    if (!active_stays) {
        EXPECT_TRUE(over(active)) << static_cast<int>(active->state());
    }
    if (!passive_stays) {
        EXPECT_TRUE(over(passive)) << static_cast<int>(passive->state());
    }
    if (!active_stays) {
        EXPECT_GE(events, 1u) << "its end is reported to the user";
    }

    active.reset();
    passive.reset();
    world.flights.clear();
    for (int looks = 0; looks < 20; ++looks) look();
    EXPECT_EQ(world.manager(0).size(), 0u);
    EXPECT_EQ(world.manager(1).size(), 1u) << "the listener";
}

/// Both are suspended, and what was on its way arrives first of all: the conversation goes on.
TEST_P(LongStop, TogetherWithThePeerItGoesOn) {
    const auto stage = std::get<Stage>(GetParam());
    bring_to(stage);
    world.now += std::get<Time>(GetParam());
    world.deliver_all();
    world.pass(0);
    switch (stage) {
        case Stage::request_sent: {
            const auto asked = next<RequestReceived>(*listener, world.now);
            ASSERT_TRUE(asked);
            passive = asked->endpoint;
            [[fallthrough]];
        }
        case Stage::request_received:
            ASSERT_TRUE(passive->reply({.qpn = wire::Qpn{0x200}}, world.now));
            [[fallthrough]];
        case Stage::reply_sent:
            world.deliver_all();
            ASSERT_TRUE(next<ReplyReceived>(*active, world.now));
            [[fallthrough]];
        case Stage::reply_received:
            ASSERT_TRUE(active->ready_to_use({}, world.now));
            world.deliver_all();
            ASSERT_TRUE(next<Established>(*passive, world.now));
            [[fallthrough]];
        case Stage::established: EXPECT_TRUE(passive->disconnect({}, world.now)); [[fallthrough]];
        case Stage::disconnecting:
            world.deliver_all();
            drain();
            world.deliver_all();
            drain();
            break;
        case Stage::closing: break;
        case Stage::service_request_sent: {
            const auto asked = next<ServiceRequestReceived>(*listener, world.now);
            ASSERT_TRUE(asked);
            passive = asked->endpoint;
            [[fallthrough]];
        }
        case Stage::service_request_received:
            ASSERT_TRUE(passive->respond({.qpn = wire::Qpn{0x300}}, world.now));
            world.deliver_all();
            EXPECT_TRUE(next<ServiceReplyReceived>(*active, world.now));
            break;
    }
    world.pass(hour);
    drain();
    EXPECT_TRUE(over(active));
    EXPECT_TRUE(over(passive));
}

INSTANTIATE_TEST_SUITE_P(
    Each, LongStop,
    ::testing::Combine(::testing::Values(Stage::request_sent, Stage::request_received, Stage::reply_sent,
                                         Stage::reply_received, Stage::established, Stage::disconnecting,
                                         Stage::closing, Stage::service_request_sent, Stage::service_request_received),
                       ::testing::Values(minute, hour, 24 * hour, 90 * 24 * hour)));

}  // namespace
}  // namespace verbline::cm::test::long_stop

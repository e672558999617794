// SPDX-License-Identifier: BSD-3-Clause
// The engine on a link that nobody else is on: connections are to ourselves.
#include "apps/libibverbs/ucma/engine.h"

#include <memory>
#include <thread>

#include "apps/libibverbs/objects/context.h"
#include "apps/libibverbs/port/process.h"
#include "datapath/link/ip_gid.h"
#include "tests/support/verbs_device.h"

namespace verbline::verbs {
namespace {

using rdmacm::EventKind;
using rdmacm::IdNumber;

constexpr std::uint16_t port_number = 7471;
const rdmacm::SocketAddress here{.gid = link::gid_of(wire::ipv4(10, 9, 0, 1)), .port = port_number};

struct EngineTest : test::VerbsTest {
    void SetUp() override {
        VerbsTest::SetUp();
        auto started = CmEngine::start(Process::get());
        ASSERT_TRUE(started) << started.error().what;
        engine = std::move(*started);
        connect();
    }
    void TearDown() override {
        close(actives);
        close(passives);
        engine.reset();
        VerbsTest::TearDown();
    }

    void close(rdmacm::EventQueue& queue) {
        engine->with([&](auto& service, Time now) { service.close(queue, now); });
    }
    /// The next event of a queue, which must be of this kind.
    rdmacm::CmEvent expect(rdmacm::EventQueue& queue, EventKind kind) {
        for (const Time end = monotonic_now() + 5 * second; monotonic_now() < end;) {
            const auto event = engine->with([&](auto& service, Time) { return service.take_event(queue); });
            if (event) {
                EXPECT_EQ(event->kind, kind);
                return *event;
            }
            engine->leave();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        ADD_FAILURE() << "no event " << static_cast<int>(kind);
        return {};
    }
    template <class Act>
    void call(Act act) {
        const auto done = engine->with(act);
        ASSERT_TRUE(done) << done.error().what;
    }
    void connect() {
        const auto create = [&](auto& queue) {
            return engine->with([&](auto& service, Time) {
                return service.create_id(queue, 0, rdmacm::PortSpace::tcp, rdmacm::QueuePairType::rc);
            });
        };
        const IdNumber listener = create(passives), active = create(actives);
        call([&](auto& service, Time now) { return service.bind(listener, here, now); });
        call([&](auto& service, Time now) { return service.listen(listener, 1, now); });
        call([&](auto& service, Time now) { return service.resolve_address(active, std::nullopt, here, second, now); });
        expect(actives, EventKind::address_resolved);
        call([&](auto& service, Time now) { return service.resolve_route(active, second, now); });
        expect(actives, EventKind::route_resolved);
        call([&](auto& service, Time now) { return service.connect(active, {.qpn = wire::Qpn{0x111}}, now); });
        const auto passive = expect(passives, EventKind::connect_request).id;
        call([&](auto& service, Time now) {
            return service.accept(passive, 0, rdmacm::ConnectParameters{.qpn = wire::Qpn{0x222}}, now);
        });
        expect(actives, EventKind::connect_response);
        call([&](auto& service, Time now) { return service.accept(active, 0, std::nullopt, now); });
        expect(passives, EventKind::established);
    }

    rdmacm::EventQueue actives, passives;
    std::unique_ptr<CmEngine> engine;
};

TEST_F(EngineTest, TheEndWaitsUntilPeersAreNotified) {
    close(actives);
    const auto began = monotonic_now();
    engine->finish();
    EXPECT_LT(monotonic_now() - began, second);
    ASSERT_FALSE(passives.events.empty()) << "before finish returned";
    EXPECT_EQ(passives.events.front().kind, EventKind::disconnected);
}

TEST_F(EngineTest, TheEndDoesNotWaitWithoutConnections) {
    close(actives);
    expect(passives, EventKind::disconnected);
    close(passives);
    engine->finish();
    const auto began = monotonic_now();
    engine->finish();
    EXPECT_LT(monotonic_now() - began, second / 2);
}

TEST_F(EngineTest, PeersThatDoNotAnswerAreAskedOftenForASecondAndNoLonger) {
    auto* const gsi = Context::of(context).port().gsi().value();
    const auto lost = std::make_shared<std::size_t>(0);  // for as long as MADs may come
    engine->with([&](auto&, Time) {
        gsi->receive(wire::MadClass::communication,
                     [lost](std::span<const mad::GmpArrival> burst) { *lost += burst.size(); });
    });
    close(actives);
    const auto began = monotonic_now();
    engine->finish();
    const auto took = monotonic_now() - began;
    EXPECT_GE(took, second);
    EXPECT_LT(took, 2 * second);
    engine->with([&](auto&, Time) { EXPECT_GE(*lost, 5u) << "one might be lost"; });
    EXPECT_TRUE(passives.events.empty());
}

}  // namespace
}  // namespace verbline::verbs

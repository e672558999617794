// SPDX-License-Identifier: BSD-3-Clause
#include "control/mad/ibsim.h"

#include <optional>

#include <gtest/gtest.h>

#include "control/mad/open.h"
#include "tests/support/fabric.h"

namespace verbline::mad {
namespace {

class IbsimTest : public testing::Test {
protected:
    std::unique_ptr<Transport> attach(const std::string& host) {
        auto transport = open(fabric.spec(host), *loop);
        if (!transport) throw std::runtime_error(transport.error().what);
        return std::move(*transport);
    }
    bool run_until(const std::function<bool()>& done, Time limit = 5 * second) {
        for (const Time end = loop->now() + limit; !done() && loop->now() < end;) loop->run_once(5 * millisecond);
        return done();
    }
    static MadBuffer cm_mad(std::uint8_t tag) {
        MadBuffer mad{};
        wire::Mad{.management_class = wire::MadClass::communication,
                  .class_version = 2,
                  .method = wire::MadMethod::send,
                  .transaction = tag,
                  .attribute = 0x10}
            .emit(std::span(mad).first<wire::Mad::size>());
        mad[100] = std::byte{tag};
        return mad;
    }

    std::unique_ptr<control::Loop> loop = *control::Loop::create();
    test::Fabric fabric{test::star(4)};
};

TEST_F(IbsimTest, CarriesMadsBetweenTwoHostsBothWays) {
    const auto a = attach("H2"), b = attach("H3");
    std::optional<MadBuffer> at_a, at_b;
    b->receive(wire::MadClass::communication, [&](const MadAddress& from, MadBytes mad) {
        at_b.emplace();
        std::ranges::copy(mad, at_b->begin());
        EXPECT_EQ(from.lid, a->port().lid);
        EXPECT_EQ(from.qpn, a->port().qpn);
        b->send(from, cm_mad(2), 0);
    });
    a->receive(wire::MadClass::communication, [&](const MadAddress&, MadBytes mad) {
        at_a.emplace();
        std::ranges::copy(mad, at_a->begin());
    });
    a->send({.lid = b->port().lid, .qpn = b->port().qpn}, cm_mad(1), 0);
    ASSERT_TRUE(run_until([&] { return at_a.has_value(); }));
    EXPECT_EQ((*at_b)[100], std::byte{1});
    EXPECT_EQ((*at_a)[100], std::byte{2});
}

TEST_F(IbsimTest, AnUndeliverableMadIsCountedAndNotDelivered) {
    const auto a = attach("H2");
    bool received = false;
    a->receive(wire::MadClass::communication, [&](const MadAddress&, MadBytes) { received = true; });
    a->send({.lid = a->port().lid, .qpn = wire::Qpn{0x4711}}, cm_mad(1), 0);
    EXPECT_TRUE(run_until([&] { return a->counters().tx_undeliverable.value() == 1; }));
    EXPECT_FALSE(received);
}

TEST_F(IbsimTest, AClassWithoutAReceiverIsCounted) {
    const auto a = attach("H2");
    a->send({.lid = a->port().lid, .qpn = a->port().qpn}, cm_mad(1), 0);
    EXPECT_TRUE(run_until([&] { return a->counters().rx_dropped_no_receiver.value() == 1; }));
}

TEST_F(IbsimTest, TheSinkSeesEveryMadWithItsAddresses) {
    const auto a = attach("H2"), b = attach("H3");
    std::vector<std::pair<Direction, MadAddress>> seen;
    const auto sink = [&](Direction direction, Time time, MadBytes mad, const MadAddress& far, const PortFacts& port) {
        EXPECT_GT(time, 0);
        EXPECT_EQ(mad[100], std::byte{7});
        EXPECT_NE(port.lid, far.lid);
        seen.emplace_back(direction, far);
    };
    a->capture(sink);
    b->capture(sink);
    a->send({.lid = b->port().lid, .qpn = b->port().qpn}, cm_mad(7), 0);
    ASSERT_TRUE(run_until([&] { return seen.size() == 2; }));
    EXPECT_EQ(seen[0].first, Direction::sent);
    EXPECT_EQ(seen[0].second.lid, b->port().lid);
    EXPECT_EQ(seen[1].first, Direction::received);
    EXPECT_EQ(seen[1].second.lid, a->port().lid);
}

TEST_F(IbsimTest, AnUnknownHostIsNamed) {
    const auto transport = open(fabric.spec("H9"), *loop);
    ASSERT_FALSE(transport);
    EXPECT_EQ(transport.error().what,
              "ibsim fabric '" + fabric.name() + "' has no host 'H9': look into its topology file");
    EXPECT_NO_THROW(attach("H2")) << "the failed attempt took no slot away";
}

TEST_F(IbsimTest, TheEleventhClientFailsSinceTheFabricIsFull) {
    std::vector<std::unique_ptr<Transport>> all;
    for (int i = 0; i < 9; ++i) all.push_back(attach("H2"));  // OpenSM is the tenth
    const auto transport = open(fabric.spec("H2"), *loop);
    ASSERT_FALSE(transport);
    EXPECT_EQ(transport.error().code, EBUSY);
    EXPECT_NE(transport.error().what.find("is full"), std::string::npos) << transport.error().what;
    all.pop_back();
    EXPECT_NO_THROW(attach("H3")) << "who leaves in peace gives the slot back";
}

TEST_F(IbsimTest, ProcessesOfOneHostHaveQueuePairsOfTheirOwn) {
    const auto a = attach("H2"), b = attach("H2");
    EXPECT_EQ(a->port().gid(), b->port().gid());
    EXPECT_NE(a->port().qpn, b->port().qpn);
}

TEST_F(IbsimTest, SuccessorsOfKilledProcessesAlwaysFindASlot) {
    const auto qpn = attach("H3")->port().qpn;
    for (int n = 0; n < 25; ++n) {
        const pid_t child = ::fork();
        if (child == 0) {
            auto own_loop = *control::Loop::create();
            auto transport = open(fabric.spec("H3"), *own_loop);
            ::kill(::getpid(), transport ? SIGKILL : SIGTERM);  // no destructor runs
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_EQ(WTERMSIG(status), SIGKILL) << "predecessors killed so far: " << n;
    }
    EXPECT_EQ(attach("H3")->port().qpn, qpn) << "a successor is where its predecessor was";
}

TEST_F(IbsimTest, AFabricThatDiesIsAPortDownAndOneThatReturnsAPortUp) {
    const auto a = attach("H2");
    std::vector<PortEvent> events;
    a->listen([&](PortEvent event) { events.push_back(event); });
    const auto refresher = loop->every(20 * millisecond, [&] { a->refresh(); });
    fabric.crash();
    ASSERT_TRUE(run_until([&] { return !a->port().active(); }));
    EXPECT_EQ(events, std::vector{PortEvent::port_down});
    a->send({.lid = wire::Lid{1}}, cm_mad(1), 0);
    EXPECT_EQ(a->counters().tx_errors.value(), 1u);
    fabric.revive();
    ASSERT_TRUE(run_until([&] { return a->port().active(); }));
    EXPECT_EQ(events.back(), PortEvent::port_up);
}

TEST_F(IbsimTest, AThousandMadsInOneGoAreCarriedOrCountedAndBlockNobody) {
    const auto a = attach("H2"), b = attach("H3");
    std::size_t received = 0;
    b->receive(wire::MadClass::communication, [&](const MadAddress&, MadBytes) { ++received; });
    const Time start = loop->now();
    for (int i = 0; i < 1000; ++i) a->send({.lid = b->port().lid, .qpn = b->port().qpn}, cm_mad(1), 0);
    EXPECT_LT(loop->now() - start, second);
    const auto& counters = a->counters();
    EXPECT_EQ(counters.tx_mads.value() + counters.tx_dropped_queue_full.value(), 1000u);
    EXPECT_TRUE(run_until([&] { return received == counters.tx_mads.value(); })) << received;
}

}  // namespace
}  // namespace verbline::mad

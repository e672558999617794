// SPDX-License-Identifier: BSD-3-Clause
// Frames: which way they take, in which order, and whom they wake.
#include <atomic>
#include <thread>

#include "pmd/direct/direct_links.h"
#include "tests/pmd/direct/fixture.h"

namespace verbline::pmd {
namespace {

using namespace test_direct;
using test::ByteVector;

struct DirectBursts : DirectLinksTest {
    DirectBursts() {
        introduce(a, b);
        EXPECT_TRUE(connect(a, b));
    }
    ByteVector to_b(unsigned content) const { return frame(b.address, a.address, content); }
    ByteVector to_other(unsigned content) const { return frame(mac(9), a.address, content); }
};

TEST_F(DirectBursts, EachFrameTakesItsWayInOrder) {
    const auto to_group = frame(group, a.address, 5);
    EXPECT_EQ(a.send(Frames{to_b(1), to_other(2), to_other(3), to_b(4), to_group, to_b(6)}), 6u);
    EXPECT_EQ(b.receive(), (Frames{to_b(1), to_b(4), to_b(6)}));
    EXPECT_EQ(a.sent_by_lane(), (Frames{to_other(2), to_other(3), to_group}));
}

TEST_F(DirectBursts, ACongestedLaneHoldsUpWhatIsBehindIt) {
    a.lane->tx_room = 1;
    EXPECT_EQ(a.send(Frames{to_b(1), to_other(2), to_other(3), to_b(4)}), 2u) << "the first n";
    EXPECT_EQ(b.receive(), Frames{to_b(1)});
    EXPECT_EQ(a.send(Frames{}), 0u);
}

/// One end is up, and its peer has still to look at the link: under load that takes longer than a stalled peer has.
TEST_F(DirectLinksTest, AFrameIsNotHeldUpWhereOneEndIsUpFirst) {
    introduce(a, b);
    for (auto* next = &a; links(a) == links(b); next = next == &a ? &b : &a) next->device->link_up();
    const auto& early = links(a) != 0 ? a : b;
    const auto& late = links(a) != 0 ? b : a;
    const auto one = frame(late.address, early.address, 1);
    EXPECT_EQ(early.send(one), 1u);
    EXPECT_EQ(early.sent_by_lane(), Frames{one});
    ASSERT_TRUE(connect(a, b));
    EXPECT_EQ(early.send(one), 1u);
    EXPECT_EQ(late.receive(), Frames{one}) << "by the link";
}

TEST_F(DirectBursts, AStalledPeerDelaysOthersBriefly) {
    std::size_t taken = 0;
    while (a.send(to_b(0)) == 1) ++taken;
    EXPECT_EQ(taken, 512u) << "the ring";
    EXPECT_EQ(a.send(Frames{to_b(1), to_other(2)}), 0u) << "at first it may be a moment";
    EXPECT_EQ(counter(*a.device, "tx_dropped_stalled"), 0u);
    std::this_thread::sleep_for(std::chrono::nanoseconds(2 * DirectLink::stall_timeout));
    EXPECT_EQ(a.send(Frames{to_b(1), to_other(2), to_b(3)}), 3u);
    EXPECT_EQ(a.sent_by_lane(), Frames{to_other(2)});
    EXPECT_EQ(counter(*a.device, "tx_dropped_stalled"), 2u);
    while (!b.receive().empty()) {}
    EXPECT_EQ(a.send(to_b(4)), 1u);
    EXPECT_EQ(b.receive(), Frames{to_b(4)}) << "it goes on";
    while (a.send(to_b(0)) == 1) {}
    EXPECT_EQ(counter(*a.device, "tx_dropped_stalled"), 2u) << "and is given its time again";
}

TEST_F(DirectBursts, APeersSourceAddressIsChecked) {
    a.send(frame(b.address, mac(7)));
    a.send(frame(b.address, group));
    a.send(to_b(1));
    EXPECT_EQ(b.receive(), Frames{to_b(1)});
    EXPECT_EQ(counter(*b.device, "rx_dropped_source"), 2u);
}

TEST_F(DirectBursts, LaneAndLinksHaveTheirTurns) {
    for (unsigned i = 0; i < 2 * max_burst; ++i) {
        a.send(to_b(i));
        b.lane->receive(frame(b.address, mac(9), i));
    }
    std::size_t direct = 0, by_lane = 0;
    for (unsigned i = 0; i < 2; ++i) {
        for (const auto& one : b.receive()) ++(one[11] == std::byte{1} ? direct : by_lane);
    }
    EXPECT_EQ(direct, max_burst);
    EXPECT_EQ(by_lane, max_burst);
    while (!b.receive().empty()) {}
}

TEST_F(DirectBursts, SendingWakesTheReceiver) {
    const auto sleep = [&] {
        b.device->want_rx_event(0, true);
        b.receive();
        return !b.awake();
    };
    sleep();  // that the link came up
    b.device->link_up();
    ASSERT_TRUE(sleep());
    EXPECT_TRUE(b.lane->wanted);
    a.send(to_b(1));
    EXPECT_TRUE(b.awake(20'000)) << "a peer";
    ASSERT_TRUE(sleep());
    b.lane->signal();
    EXPECT_TRUE(b.awake(20'000)) << "the lane";
    ASSERT_TRUE(sleep());
    b.broker.refuse(mac(7));
    EXPECT_TRUE(b.awake(20'000)) << "the hub";
    EXPECT_FALSE(b.device->wants_link_up());
    b.device->want_rx_event(0, false);
    EXPECT_TRUE(b.device->wants_link_up()) << "whose news are looked at now";
    EXPECT_FALSE(b.lane->wanted);
    EXPECT_FALSE(b.awake()) << "taken back";
    a.send(to_b(2));
    EXPECT_FALSE(b.awake()) << "nobody sleeps";
    EXPECT_EQ(b.receive().size(), 1u);
}

TEST_F(DirectBursts, ThePeersEndWakesTheSleeper) {
    for (int i = 0; i < 2; ++i) a.device->want_rx_event(0, true);
    a.device->link_up();
    ASSERT_FALSE(a.awake());
    b.device.reset();
    EXPECT_TRUE(a.awake(20'000));
    a.device->want_rx_event(0, false);
    EXPECT_TRUE(a.device->wants_link_up());
    a.device->link_up();
    EXPECT_EQ(links(a), 0u);
}

TEST_F(DirectBursts, ASleeperLearnsOfANewLink) {
    Host c(3, now);
    introduce(c, b);
    b.device->link_up();
    b.device->want_rx_event(0, true);
    b.device->want_rx_event(0, true);
    ASSERT_FALSE(b.awake());
    ASSERT_TRUE(c.device->link_up());
    for (int i = 0; i < 4; ++i) b.device->link_up(), c.device->link_up();
    ASSERT_EQ(links(b), 2u);
    EXPECT_TRUE(b.awake()) << "whose descriptor it does not wait for yet";
    b.device->want_rx_event(0, true);
    b.device->want_rx_event(0, true);
    ASSERT_FALSE(b.awake());
    c.send(frame(b.address, c.address));
    EXPECT_TRUE(b.awake(20'000));
    EXPECT_EQ(b.receive().size(), 1u);
}

/// For the sanitizers: bursts on two threads while links come and go on a third.
TEST_F(DirectBursts, LinksComeAndGoUnderLoad) {
    std::atomic<std::uint64_t> received{0};
    const std::jthread sender([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            a.send(Frames{to_b(1), to_other(2)});
            a.lane->sent.clear();
        }
    });
    const std::jthread receiver([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            b.device->want_rx_event(0, true);
            received += b.receive().size();
            b.device->want_rx_event(0, false);
        }
    });
    for (unsigned round = 0; round < 20; ++round) {
        const auto before = received.load();
        while (received < before + 100) std::this_thread::yield();
        introduce(round % 2 == 0 ? a : b, round % 2 == 0 ? b : a);
        a.device->link_up();
        EXPECT_TRUE(connect(a, b));
    }
}

}  // namespace
}  // namespace verbline::pmd

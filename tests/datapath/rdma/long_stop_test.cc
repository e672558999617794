// SPDX-License-Identifier: BSD-3-Clause
// Machines that are suspended, and peers that are stopped: minutes to days pass in which nobody polls.
#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include "tests/datapath/rdma/two_ends.h"

namespace verbline::rdma::long_stop {
namespace {

using transport::QueuePairType, transport::QueuePairState;

constexpr Time minute = 60 * second, hour = 60 * minute;

class LongStop : public test::TwoEnds, public ::testing::WithParamInterface<Time> {
protected:
    /// Packets that both have sent.
    std::uint64_t packets() { return host_a.counter("tx_packets") + host_b.counter("tx_packets"); }
};

TEST_P(LongStop, TogetherWithThePeerTransfersGoOn) {
    connect();
    test::fill(a.data);
    constexpr std::uint32_t bytes = 1 << 15;
    for (std::size_t i = 0; i < 8; ++i) {
        ASSERT_TRUE(post(a, to(b, bytes, Operation::write, i), 0, bytes));
        ASSERT_TRUE(post(b, to(a, 0, Operation::read, i), 0, bytes));
    }
    for (int stops = 0; stops < 20 && !(at_a.size() == 8 && at_b.size() == 8); ++stops) {
        world.run_for(10 * microsecond);
        const auto before = packets();
        world.suspend(GetParam());
        world.step(world.now());
        EXPECT_LE(packets() - before, 300u) << "what was missed is not made up for";
    }
    ASSERT_TRUE(complete(8, 8));
    for (const auto& each : at_a) EXPECT_EQ(each.status, Status::success);
    for (const auto& each : at_b) EXPECT_EQ(each.status, Status::success);
    EXPECT_TRUE(equal(a, 0, b, bytes, bytes));
    EXPECT_EQ(a.pair->state(), QueuePairState::rts);
    EXPECT_EQ(b.pair->state(), QueuePairState::rts);
}

TEST_P(LongStop, OfAPeerEndsWithRetriesExceeded) {
    connect(QueuePairType::rc, {.send = {.first = wire::Psn(100), .timeout = 14, .retries = 7, .max_reads = 4}});
    ASSERT_TRUE(post(a, to(b, 0, Operation::write, 1), 0, 64));
    ASSERT_TRUE(complete(1));
    world.stop(host_b);
    const auto before = host_a.counter("tx_packets");
    ASSERT_TRUE(post(a, to(b, 0, Operation::write, 2), 0, 64));
    // We, too, look at the clock seldom: each look is one timeout, not as many as would have fitted.
    for (int looks = 0; looks < 40 && a.pair->state() == QueuePairState::rts; ++looks) {
        world.suspend(GetParam());
        world.step(world.now());
    }
    ASSERT_TRUE(complete(2));
    EXPECT_EQ(at_a[1].status, Status::retry_exceeded);
    EXPECT_LE(host_a.counter("tx_packets") - before, 40u);

    // The peer wakes, has the messages in its ring, and is where it was.
    const auto sent = packets();
    world.resume(host_b);
    world.run_for(second);
    EXPECT_EQ(b.pair->state(), QueuePairState::rts);
    EXPECT_LE(packets() - sent, 40u);
    ASSERT_TRUE(post(b, to(a, 0, Operation::write, 3), 0, 64));
    ASSERT_TRUE(complete(2, 1));
    EXPECT_EQ(at_b[0].status, Status::retry_exceeded) << "nobody is there any more";
}

/// Else all retries would be used up at once, before a peer that was suspended with us could answer any.
TEST_P(LongStop, ATimeoutThatIsSeenLateIsOneTimeout) {
    connect(QueuePairType::rc, {.send = {.first = wire::Psn(100), .timeout = 14, .retries = 7, .max_reads = 4}});
    world.stop(host_b);
    ASSERT_TRUE(post(a, to(b, 0, Operation::write, 1), 0, 64));
    world.step(world.now());
    world.suspend(GetParam());
    world.run_for(60 * millisecond);  // the timeout is 67 ms
    EXPECT_EQ(host_a.counter("local_ack_timeout_err"), 1u);
    EXPECT_EQ(a.pair->state(), QueuePairState::rts);
    world.resume(host_b);
    ASSERT_TRUE(complete(1));
    EXPECT_EQ(at_a[0].status, Status::success);
}

TEST_P(LongStop, WithoutALimitItWaitsForThePeer) {
    connect(QueuePairType::rc, {.send = {.first = wire::Psn(100), .timeout = 0, .max_reads = 4}});
    world.stop(host_b);
    ASSERT_TRUE(post(a, to(b, 0, Operation::write, 1), 0, 64));
    for (int looks = 0; looks < 20; ++looks) {
        world.suspend(GetParam());
        world.step(world.now());
    }
    EXPECT_TRUE(a.poll().empty());
    world.resume(host_b);
    ASSERT_TRUE(complete(1));
    EXPECT_EQ(at_a[0].status, Status::success);
}

TEST_P(LongStop, AReceiverThatIsNotReadyForDaysIsWaitedFor) {
    connect(QueuePairType::rc, {.rnr_timer = 14, .send = {.first = wire::Psn(100), .rnr_retries = 7, .max_reads = 4}});
    ASSERT_TRUE(post(a, {.operation = Operation::send}, 0, 64));
    for (int looks = 0; looks < 20; ++looks) {
        world.run_for(microsecond);
        const auto before = packets();
        world.suspend(GetParam());
        world.step(world.now());
        EXPECT_LE(packets() - before, 4u);
    }
    EXPECT_TRUE(a.poll().empty());
    b.receive(1, 0, 64);
    ASSERT_TRUE(complete(1, 1));
    EXPECT_EQ(at_a[0].status, Status::success);
}

/// The longest timeout that there is (4.096 us * 2^31: 2.4 hours), and its seven retries.
TEST_P(LongStop, TheLongestTimeoutEndsAsWell) {
    connect(QueuePairType::rc, {.send = {.first = wire::Psn(100), .timeout = 31, .retries = 7, .max_reads = 4}});
    world.stop(host_b);
    const auto begin = world.now();
    ASSERT_TRUE(post(a, to(b, 0, Operation::write, 1), 0, 64));
    const auto limit = begin + 100 * hour + 20 * GetParam();
    while (a.pair->state() == QueuePairState::rts && world.now() < limit) {
        world.suspend(GetParam());
        world.step(world.now());
    }
    ASSERT_TRUE(complete(1));
    EXPECT_EQ(at_a[0].status, Status::retry_exceeded);
    EXPECT_LE(packets(), 20'000u);
}

INSTANTIATE_TEST_SUITE_P(Each, LongStop, ::testing::Values(minute, hour, 24 * hour, 90 * 24 * hour));

}  // namespace
}  // namespace verbline::rdma::long_stop

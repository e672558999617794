// SPDX-License-Identifier: BSD-3-Clause
// Requests that the shard's own thread transmits: QueuePair::publish, ring and send.
#include <functional>

#include <gtest/gtest.h>

#include "tests/datapath/rdma/two_ends.h"

namespace verbline::rdma {
namespace {

using transport::QueuePairType;

class Send : public test::TwoEnds {
protected:
    /// Staged only: a WRITE of 64 bytes.
    bool stage(std::uint64_t id) {
        const auto segment = a.segment(64 * id, 64);
        auto request = to(b, 64 * id, Operation::write, id);
        request.segments = {&segment, 1};
        request.flags = transport::send_signalled;
        return a.pair->stage(request).has_value();
    }
    void publish(std::uint64_t id) {
        ASSERT_TRUE(stage(id));
        a.pair->publish();
    }
    std::uint64_t sent() const { return host_a.counter("tx_packets"); }
    std::uint64_t poll() {
        host_a.device().poll(0, world.now());
        return sent();
    }
};

TEST_F(Send, TransmitsWhatIsPublished) {
    connect();
    test::fill(a.data);
    ASSERT_TRUE(stage(1));
    EXPECT_TRUE(a.pair->send(world.now()));
    EXPECT_EQ(sent(), 0u) << "staged, but not published";
    a.pair->publish();
    EXPECT_TRUE(a.pair->send(world.now()));
    EXPECT_EQ(sent(), 1u);
    EXPECT_EQ(poll(), 1u) << "and no doorbell is left";
    ASSERT_TRUE(complete(1));
    EXPECT_EQ(at_a[0].status, Status::success);
    EXPECT_TRUE(equal(a, 64, b, 64, 64));
}

TEST_F(Send, WhatIsPublishedWaitsForADoorbell) {
    connect();
    publish(1);
    EXPECT_EQ(poll(), 0u);
    a.pair->ring();
    EXPECT_EQ(poll(), 1u);
}

TEST_F(Send, KeepsTheOrderOfDoorbellsAndSends) {
    connect();
    constexpr std::uint64_t many = 30;
    for (std::uint64_t id = 0; id < many; ++id) {
        publish(id);
        if (id % 3 == 0) a.pair->ring();
        if (id % 3 == 1) a.pair->send(world.now());
    }
    a.pair->ring();
    ASSERT_TRUE(complete(many));
    for (std::uint64_t id = 0; id < many; ++id) EXPECT_EQ(at_a[id].id, id);
}

/// Completion queues are notified inside the gate that a change holds.
TEST_F(Send, RingsTheDoorbellWhileAChangeHoldsTheGate) {
    std::function<void()> during_change;
    const auto completions = host_a.device().create_cq(16, [&] { during_change(); });
    auto options = a.options(QueuePairType::rc);
    options.send_completions = options.receive_completions = completions.get();
    const auto changed = *host_a.device().create_queue_pair(options);
    ASSERT_TRUE(changed->init({}));
    ASSERT_TRUE(changed->post(transport::ReceiveRequest{}));
    completions->arm(transport::CompletionQueue::Armed::any);
    connect();
    publish(1);
    unsigned times = 0;
    during_change = [&] {
        ++times;
        EXPECT_FALSE(a.pair->send(world.now()));
    };
    changed->error();
    EXPECT_EQ(times, 1u);
    EXPECT_EQ(sent(), 0u);
    EXPECT_EQ(poll(), 1u) << "the next poll answers the doorbell";
    ASSERT_TRUE(complete(1));
}

/// The program did something else for longer than the timeout, and transmits before it receives the ACK.
TEST_F(Send, AnAnswerThatIsReadLateIsNoTimeout) {
    connect(QueuePairType::rc, {.send = {.first = wire::Psn(100), .timeout = 10, .retries = 0, .max_reads = 4}});
    constexpr Time pause = 50 * millisecond;  // the timeout is 4 ms
    for (std::uint64_t id = 0; id < 20; ++id) {
        publish(id);
        ASSERT_TRUE(a.pair->send(world.now()));
        sim::World::stop(host_a);
        world.run_for(pause);
        sim::World::resume(host_a);
    }
    ASSERT_TRUE(complete(20));
    for (const auto& each : at_a) EXPECT_EQ(each.status, Status::success);
    EXPECT_EQ(host_a.counter("local_ack_timeout_err"), 0u);
    EXPECT_EQ(host_a.counter("tx_retransmitted_packets"), 0u);
    EXPECT_EQ(sent(), 20u);
}

TEST_F(Send, WindowsThatAreFullOpenAgain) {
    connect();
    constexpr std::uint64_t many = 600;  // more than are in flight at first
    std::uint64_t posted = 0;
    for (; posted < 60; ++posted) publish(posted);
    while (posted < many) {
        a.pair->send(world.now());
        world.run_for(microsecond);
        std::ranges::copy(a.poll(), std::back_inserter(at_a));
        while (posted < many && posted - at_a.size() < 60) publish(posted++);
    }
    a.pair->send(world.now());
    ASSERT_TRUE(complete(many));
    for (std::uint64_t id = 0; id < many; ++id) EXPECT_EQ(at_a[id].id, id);
}

}  // namespace
}  // namespace verbline::rdma

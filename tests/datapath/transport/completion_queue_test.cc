// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/completion_queue.h"

#include <array>
#include <thread>

#include <gtest/gtest.h>

namespace verbline::transport {
namespace {

using Armed = CompletionQueue::Armed;

bool push(CompletionQueue& queue, unsigned shard, Completion completion) {
    if (completion.qpn == wire::Qpn{}) completion.qpn = wire::Qpn{17};
    return queue.push(shard, [&](Completion& slot) { slot = completion; });
}

class ArmedQueue : public testing::Test {
protected:
    void complete(Completion completion) {
        EXPECT_TRUE(push(queue, 0, completion));
        queue.touch(0);
        queue.notify(0);
    }

    unsigned told = 0;
    CompletionQueue queue{8, 1, [this] { ++told; }};
};

TEST_F(ArmedQueue, SaysNothingUnlessAsked) {
    complete({});
    EXPECT_EQ(told, 0u);
}

TEST_F(ArmedQueue, TellsOnce) {
    queue.arm(Armed::any);
    complete({});
    complete({});
    EXPECT_EQ(told, 1u);
    queue.arm(Armed::any);
    EXPECT_EQ(told, 1u) << "of what came before it is not told";
    complete({});
    EXPECT_EQ(told, 2u);
}

TEST_F(ArmedQueue, WaitsForSolicitedOnes) {
    queue.arm(Armed::solicited);
    complete({});
    EXPECT_EQ(told, 0u);
    complete({.solicited = true});
    EXPECT_EQ(told, 1u);
}

TEST_F(ArmedQueue, TakesErrorsForSolicited) {
    queue.arm(Armed::solicited);
    complete({.status = Status::flushed});
    EXPECT_EQ(told, 1u);
}

TEST_F(ArmedQueue, ForgetsSolicitationWithTheNotice) {
    complete({.solicited = true});
    queue.arm(Armed::solicited);
    complete({});
    EXPECT_EQ(told, 0u) << "the solicited one came before";
}

TEST(CompletionQueue, KeepsTheOrderOfALane) {
    CompletionQueue queue(4, 2);
    for (std::uint64_t i = 0; i < 4; ++i) {
        EXPECT_TRUE(push(queue, 0, {.id = i}));
        EXPECT_TRUE(push(queue, 1, {.id = 100 + i}));
    }
    std::uint64_t next = 0, next_other = 100;
    std::array<Completion, 3> some;
    for (std::size_t n = queue.poll(some); n != 0; n = queue.poll(some)) {
        for (const auto& each : std::span(some).first(n)) EXPECT_EQ(each.id, each.id < 100 ? next++ : next_other++);
    }
    EXPECT_EQ(next, 4u);
    EXPECT_EQ(next_other, 104u);
}

TEST(CompletionQueue, SaysForEverThatItOverran) {
    CompletionQueue queue(2, 1);
    EXPECT_TRUE(push(queue, 0, {.id = 1}));
    EXPECT_TRUE(push(queue, 0, {.id = 2}));
    EXPECT_FALSE(queue.overrun());
    EXPECT_FALSE(push(queue, 0, {.id = 3}));
    EXPECT_TRUE(queue.overrun());
    std::array<Completion, 4> all;
    EXPECT_EQ(queue.poll(all), 2u) << "what fitted is still there";
    EXPECT_FALSE(push(queue, 0, {.id = 4})) << "and nothing comes behind what is missing";
}

TEST(CompletionQueue, PurgesOneQueuePair) {
    CompletionQueue queue(8, 2);
    for (std::uint32_t i = 0; i < 6; ++i) EXPECT_TRUE(push(queue, i % 2, {.id = i, .qpn = wire::Qpn{i % 3 + 1}}));
    queue.purge(wire::Qpn{1});
    std::array<Completion, 8> all;
    ASSERT_EQ(queue.poll(all), 4u);
    for (const auto& each : std::span(all).first(4)) EXPECT_NE(each.qpn, wire::Qpn{1});
}

TEST(CompletionQueue, LosesNoWakeUp) {
    // A user who arms, finds nothing and then sleeps must be woken by the next completion. Were one missed, the other
    // side would wait for ever: the test's timeout would end it.
    constexpr std::uint64_t rounds = 20'000;
    std::atomic<std::uint64_t> woken{0}, consumed{0};
    CompletionQueue queue(4, 1, [&] {
        woken.fetch_add(1);
        woken.notify_one();
    });
    std::jthread shard([&] {
        for (std::uint64_t i = 0; i < rounds; ++i) {
            while (!push(queue, 0, {.id = i})) std::this_thread::yield();
            queue.touch(0);
            std::atomic_thread_fence(std::memory_order_seq_cst);
            queue.notify(0);
            while (consumed.load() != i + 1) std::this_thread::yield();  // one at a time: nothing else wakes the user
        }
    });
    std::array<Completion, 1> one;
    for (std::uint64_t i = 0; i < rounds;) {
        const auto before = woken.load();
        if (queue.poll(one) == 0) {
            queue.arm(Armed::any);
            if (queue.poll(one) == 0) {
                woken.wait(before);
                continue;
            }
        }
        EXPECT_EQ(one[0].id, i);
        consumed.store(++i);
    }
}

}  // namespace
}  // namespace verbline::transport

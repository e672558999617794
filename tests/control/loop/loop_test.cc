// SPDX-License-Identifier: BSD-3-Clause
#include "control/loop/loop.h"

#include <algorithm>
#include <array>
#include <optional>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace verbline::control {
namespace {

struct Pipe {
    Pipe() { EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0); }
    ~Pipe() {
        ::close(ends[0]);
        ::close(ends[1]);
    }
    void put() const { EXPECT_EQ(::write(ends[1], "x", 1), 1); }
    void take() const {
        char c;
        EXPECT_EQ(::read(ends[0], &c, 1), 1);
    }
    std::array<int, 2> ends{};
};

class LoopTest : public testing::Test {
protected:
    std::unique_ptr<Loop> loop = *Loop::create();
    /// Runs until `done`, at most five seconds.
    bool run_until(const std::function<bool()>& done) {
        for (const Time end = loop->now() + 5 * second; !done() && loop->now() < end;) loop->run_once(millisecond);
        return done();
    }
};

TEST_F(LoopTest, TimersFireInOrderOfTimeAndNeverEarly) {
    std::vector<int> order;
    const Time start = loop->now();
    const auto late = loop->after(4 * millisecond, [&] { order.push_back(2); });
    const auto early = loop->after(2 * millisecond, [&] {
        order.push_back(1);
        EXPECT_GE(loop->now(), start + 2 * millisecond);
    });
    EXPECT_TRUE(run_until([&] { return order.size() == 2; }));
    EXPECT_EQ(order, (std::vector{1, 2}));
}

TEST_F(LoopTest, ADestroyedTimerDoesNotFire) {
    bool fired = false;
    {
        const auto timer = loop->after(0, [&] { fired = true; });
    }
    loop->run_once(2 * millisecond);
    EXPECT_FALSE(fired);
}

TEST_F(LoopTest, ATimerMayCancelAnotherThatIsDueToo) {
    bool fired = false;
    Timer victim;
    const auto first = loop->at(1, [&] { victim.cancel(); });
    victim = loop->at(2, [&] { fired = true; });
    loop->run_once(0);
    EXPECT_FALSE(fired);
}

TEST_F(LoopTest, APeriodicTimerMayEndItself) {
    int calls = 0;
    Timer timer;
    timer = loop->every(millisecond, [&] {
        if (++calls == 3) timer.cancel();
    });
    EXPECT_TRUE(run_until([&] { return calls == 3; }));
    const Time end = loop->now() + 5 * millisecond;
    while (loop->now() < end) loop->run_once(millisecond);
    EXPECT_EQ(calls, 3);
}

TEST_F(LoopTest, AHeldUpLoopSkipsThePeriodsItMissed) {
    int calls = 0;
    const auto timer = loop->every(millisecond, [&] { ++calls; });
    for (const Time end = loop->now() + 20 * millisecond; loop->now() < end;) {}
    loop->run_once(0);
    EXPECT_EQ(calls, 1);
}

TEST_F(LoopTest, ATimerArmedByATimerWaitsForTheNextRound) {
    int calls = 0;
    std::vector<Timer> timers;
    std::function<void()> again = [&] {
        ++calls;
        timers.push_back(loop->after(0, again));
    };
    timers.push_back(loop->after(0, again));
    loop->run_once(0);
    EXPECT_EQ(calls, 1) << "descriptors must have their turn in between";
    loop->run_once(0);
    EXPECT_EQ(calls, 2);
}

TEST_F(LoopTest, AMovedHandleStillCancels) {
    bool fired = false;
    Timer a = loop->after(0, [&] { fired = true; });
    Timer b = std::move(a);
    EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move): that is the point
    b = Timer();
    loop->run_once(2 * millisecond);
    EXPECT_FALSE(fired);
}

TEST_F(LoopTest, WatchReportsReadinessUntilDestroyed) {
    const Pipe pipe;
    int calls = 0;
    {
        const auto watch = loop->watch(pipe.ends[0], [&](std::uint32_t events) {
            EXPECT_TRUE(events & EPOLLIN);
            pipe.take();
            ++calls;
        });
        ASSERT_TRUE(watch);
        loop->run_once(0);
        EXPECT_EQ(calls, 0);
        pipe.put();
        loop->run_once(second);
        EXPECT_EQ(calls, 1);
        pipe.put();
    }
    loop->run_once(0);
    EXPECT_EQ(calls, 1);
}

TEST_F(LoopTest, AWatchMayRemoveItselfAndItsNeighbour) {
    const Pipe one, two;
    int calls = 0;
    std::optional<Watch> first, second_watch;
    const auto both = [&](std::uint32_t) {
        ++calls;
        first.reset();
        second_watch.reset();
    };
    first = *loop->watch(one.ends[0], both);
    second_watch = *loop->watch(two.ends[0], both);
    one.put();
    two.put();
    loop->run_once(second);
    loop->run_once(0);
    EXPECT_EQ(calls, 1);
}

TEST_F(LoopTest, WhatCannotBePolledIsRefused) {
    EXPECT_FALSE(loop->watch(-1, [](std::uint32_t) {}));
}

TEST_F(LoopTest, TasksPostedByOtherThreadsAllRunInOrder) {
    constexpr int per_thread = 1000;
    std::array<std::vector<int>, 2> seen;
    std::array<std::thread, 2> threads;
    for (unsigned t = 0; t < 2; ++t) {
        threads[t] = std::thread([&, t] {
            for (int i = 0; i < per_thread; ++i) loop->post([&, t, i] { seen[t].push_back(i); });
        });
    }
    EXPECT_TRUE(run_until([&] { return seen[0].size() + seen[1].size() == 2 * per_thread; }));
    for (auto& thread : threads) thread.join();
    for (const auto& list : seen) EXPECT_TRUE(std::is_sorted(list.begin(), list.end()));
}

TEST_F(LoopTest, StopFromAnotherThreadEndsRun) {
    std::thread other([&] { loop->stop(); });
    loop->run();  // without the stop this would sleep for ever; the test's time limit ends it
    other.join();
}

TEST_F(LoopTest, ATaskMayPostAndStop) {
    int order = 0;
    loop->post([&] {
        loop->post([&] {
            order = 2;
            loop->stop();
        });
        order = 1;
    });
    loop->run();
    EXPECT_EQ(order, 2);
}

/// A program that closes what it has not opened: waiting would not wait any more.
TEST_F(LoopTest, EndsWhenItsDescriptorIsClosed) {
    const int next = ::dup(STDOUT_FILENO);
    ::close(next);
    const auto other = *Loop::create();  // its epoll instance has the lowest number
    ::close(next);
    other->run();
    ASSERT_EQ(::dup2(STDOUT_FILENO, next), next) << "for it to close";
}

}  // namespace
}  // namespace verbline::control

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/timer/wheel.h"

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace verbline::timer {
namespace {

constexpr Time hour = 3600 * second;

/// How many fire in `wheel.advance(now)`.
std::size_t fired(Wheel& wheel, Time now) {
    std::size_t count = 0;
    wheel.advance(now, [&](Timer&) { ++count; });
    return count;
}

TEST(Timer, IsSmall) {
    EXPECT_LE(sizeof(Timer), 32u);
}

TEST(Wheel, FiresAtTheDeadlineAndOnce) {
    for (const Time start : {Time{0}, Time{12'345}, -5 * hour, Time{1} << 62}) {
        for (const Time after : {Wheel::tick, 100 * microsecond, millisecond, second, 80 * second, 3 * hour}) {
            Wheel wheel(start);
            Timer timer;
            wheel.arm(timer, start + after);
            EXPECT_EQ(fired(wheel, start + after - 1), 0u) << "early";
            EXPECT_TRUE(timer.armed());
            EXPECT_EQ(fired(wheel, start + after + Wheel::tick - 1), 1u) << "more than a tick late, after " << after;
            EXPECT_FALSE(timer.armed());
            EXPECT_EQ(fired(wheel, start + after + 10 * hour), 0u);
        }
    }
}

TEST(Wheel, FiresWhatHasPassedInTheNextAdvance) {
    Wheel wheel(second);
    Timer long_ago, now;
    wheel.arm(long_ago, -hour);
    wheel.arm(now, second / Wheel::tick * Wheel::tick);
    EXPECT_LE(wheel.next_deadline().value(), second);
    EXPECT_EQ(fired(wheel, second), 2u) << "although no time has passed";
}

TEST(Wheel, ACancelledTimerIsSilent) {
    Wheel wheel(0);
    Timer timer;
    wheel.arm(timer, second);
    timer.cancel();
    timer.cancel();
    EXPECT_FALSE(timer.armed());
    EXPECT_EQ(wheel.next_deadline(), std::nullopt);
    EXPECT_EQ(fired(wheel, hour), 0u);
}

TEST(Wheel, MovingATimerLeavesNothingBehind) {
    Wheel wheel(0);
    Timer timer;
    for (Time at = second; at > 0; at /= 3) wheel.arm(timer, at);
    wheel.arm(timer, 2 * second);
    EXPECT_EQ(fired(wheel, 2 * second - 1), 0u);
    EXPECT_EQ(fired(wheel, 2 * second + Wheel::tick), 1u);
}

TEST(Wheel, ATimerThatGoesLeavesTheWheel) {
    Wheel wheel(0);
    {
        Timer timer;
        wheel.arm(timer, millisecond);
    }
    EXPECT_EQ(fired(wheel, second), 0u);
}

TEST(Wheel, AWheelThatGoesDisarmsItsTimers) {
    Timer near, far, due;
    {
        Wheel wheel(0);
        wheel.arm(near, millisecond);
        wheel.arm(far, 10 * hour);
        wheel.arm(due, -1);
    }
    EXPECT_FALSE(near.armed() || far.armed() || due.armed());
}

TEST(Wheel, ATimerCanBeAMemberOrABase) {
    struct Connection : Timer {
        int retries = 0;
    };
    Wheel wheel(0);
    Connection connection;
    wheel.arm(connection, millisecond);
    wheel.advance(second, [](Timer& timer) { ++static_cast<Connection&>(timer).retries; });
    EXPECT_EQ(connection.retries, 1);
}

TEST(Wheel, TheCallbackMayCancelDestroyAndMoveOthersThatAreDue) {
    Wheel wheel(0);
    std::deque<std::unique_ptr<Timer>> timers;
    for (int i = 0; i < 4; ++i) wheel.arm(*timers.emplace_back(std::make_unique<Timer>()), millisecond);
    int calls = 0;
    wheel.advance(second, [&](Timer& timer) {
        ++calls;
        EXPECT_EQ(&timer, timers[0].get()) << "first armed, first fired, when the tick is the same";
        timers[1]->cancel();
        timers[2].reset();
        wheel.arm(*timers[3], 2 * second);
        timers[0].reset();  // itself
    });
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(fired(wheel, 3 * second), 1u);
}

TEST(Wheel, ACallbackThatArmsItselfForNowDoesNotSpin) {
    Wheel wheel(0);
    Timer timer;
    wheel.arm(timer, 0);
    int calls = 0;
    const auto again = [&](Timer& fired_timer) {
        ++calls;
        wheel.arm(fired_timer, 0);
    };
    wheel.advance(hour, again);
    EXPECT_EQ(calls, 1);
    wheel.advance(hour, again);
    EXPECT_EQ(calls, 2);
}

TEST(Wheel, SleepingUntilTheNextDeadlineArrives) {
    for (const Time deadline : {300 * microsecond, 70 * millisecond, 20 * second, hour, 3 * hour}) {
        Wheel wheel(0);
        Timer timer;
        wheel.arm(timer, deadline);
        Time now = 0;
        unsigned steps = 0;
        for (; timer.armed(); ++steps) {
            ASSERT_TRUE(wheel.next_deadline());
            ASSERT_GT(*wheel.next_deadline(), now) << "a sleep that does not end";
            now = *wheel.next_deadline();
            wheel.advance(now, [](Timer&) {});
        }
        EXPECT_LT(now - deadline, Wheel::tick);
        EXPECT_LE(steps, 8u);
    }
}

/// The wheel beside a std::multimap of what it should do.
class Model {
public:
    explicit Model(unsigned seed) : random_(seed), now_(start()), wheel_(now_), timers_(1 + random_() % 60) {}

    void step() {
        switch (random_() % 4) {
            case 0: return arm(any());
            case 1: return cancel(any());
            default: return advance();
        }
    }
    bool idle() const { return model_.empty(); }
    void drain() {
        quiet_ = true;
        for (int steps = 0; !idle() && steps < 10'000; ++steps) {
            ASSERT_TRUE(wheel_.next_deadline());
            now_ = std::max(now_, *wheel_.next_deadline());
            sweep();
        }
        EXPECT_EQ(wheel_.next_deadline(), std::nullopt);
    }

private:
    Time start() { return static_cast<Time>(random_()) >> 2; }
    std::size_t any() { return random_() % timers_.size(); }
    /// Of any order of magnitude, from nanoseconds to hours.
    Time span() { return static_cast<Time>(random_() >> (20 + random_() % 44)) % (5 * hour); }
    /// When the clock's tick reaches the deadline.
    static Time due(Time deadline) { return ((deadline >> 10) + (deadline % 1024 != 0)) << 10; }

    void arm(std::size_t i) {
        forget(i);
        const auto deadline = random_() % 16 == 0 ? now_ - span() : now_ + span();
        wheel_.arm(timers_[i], deadline);
        EXPECT_EQ(timers_[i].deadline(), deadline);
        model_.emplace(due(deadline), i);
    }
    void cancel(std::size_t i) {
        forget(i);
        timers_[i].cancel();
    }
    void forget(std::size_t i) {
        EXPECT_EQ(std::erase_if(model_, [&](const auto& entry) { return entry.second == i; }) == 1, timers_[i].armed());
    }
    void advance() {
        now_ += span();
        sweep();
    }
    void sweep() {
        // Only what is armed now may fire in this advance: what a callback arms waits for the next.
        std::multimap<std::size_t, Time> expected;
        for (const auto& [at, i] : model_) {
            if (at <= (now_ >> 10 << 10)) expected.emplace(i, at);
        }
        Time last = swept_;
        wheel_.advance(now_, [&](Timer& timer) {
            const auto i = static_cast<std::size_t>(&timer - timers_.data());
            const auto found = expected.find(i);
            ASSERT_NE(found, expected.end()) << "early, cancelled, or armed in this advance";
            EXPECT_GE(now_, timer.deadline()) << "early";
            EXPECT_FALSE(timer.armed());
            const auto tick = std::max(found->second, swept_);  // what was overdue already comes first, in any order
            EXPECT_GE(tick, last) << "out of order";
            last = tick;
            std::erase_if(model_, [&](const auto& entry) { return entry.second == i; });
            expected.erase(found);
            if (quiet_) return;
            for (auto acts = random_() % 3; acts > 0; --acts) {
                const auto other = any();
                expected.erase(other);
                random_() % 2 != 0 ? arm(other) : cancel(other);
            }
        });
        swept_ = now_;
        EXPECT_TRUE(expected.empty()) << expected.size() << " late";
        const auto next = wheel_.next_deadline();
        ASSERT_EQ(next.has_value(), !model_.empty());
        if (next) {
            EXPECT_LE(*next, std::max(now_, model_.begin()->first)) << "not a lower bound";
        }
    }

    std::mt19937_64 random_;
    Time now_;
    Wheel wheel_;
    std::vector<Timer> timers_;
    std::multimap<Time, std::size_t> model_;  ///< when due, which
    Time swept_ = now_;                       ///< the advance before
    bool quiet_ = false;                      ///< callbacks do nothing
};

TEST(Wheel, DoesWhatASortedMapWould) {
    for (unsigned seed = 0; seed < 2000 && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        Model model(seed);
        for (int i = 0; i < 200; ++i) model.step();
        model.drain();
    }
}

/// A machine that was suspended. What arms itself again from then on is not owed the time in between.
TEST(Wheel, AStepOfDaysFiresEachOnce) {
    Wheel wheel(0);
    std::vector<Timer> timers(10'000);
    for (std::size_t i = 0; i < timers.size(); ++i) wheel.arm(timers[i], static_cast<Time>(i * i) * 10 * microsecond);
    const Time now = 72 * hour;
    std::size_t count = 0;
    wheel.advance(now, [&](Timer& timer) {
        ++count;
        wheel.arm(timer, now + second);
    });
    EXPECT_EQ(count, timers.size());
    EXPECT_GT(wheel.next_deadline().value(), now);
    EXPECT_EQ(fired(wheel, now + second / 2), 0u);
    EXPECT_EQ(fired(wheel, now + second + Wheel::tick), timers.size());
}

}  // namespace
}  // namespace verbline::timer

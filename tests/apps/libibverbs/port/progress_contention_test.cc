// SPDX-License-Identifier: BSD-3-Clause
#include <optional>
#include <thread>

#include "tests/apps/libibverbs/port/progress_fixture.h"

namespace verbline::verbs {
namespace {

/// Made where there are several CPUs, and then left on one with a thread that computes.
class ProgressBesideComputation : public ProgressTest {
protected:
    ProgressBesideComputation() {
        one_.emplace();
        computing_ = std::jthread([](const std::stop_token& stop) {
            while (!stop.stop_requested()) {}
        });
    }
    /// As a program does, which yields to nobody. False: the condition does not come true.
    template <class Condition>
    bool polls_until(Condition condition) {
        const auto until = monotonic_now() + 10 * second;
        while (!condition()) {
            if (monotonic_now() > until) return false;
            if (!progress->drive()) progress->idle();
        }
        return true;
    }
    /// A program that has received enough to be trusted polls in vain until it has asked for signals and blocked.
    bool blocks() {
        own();
        const auto before = link.times_wanted.load();
        return polls_until([&] { return link.times_wanted != before; });
    }

    std::optional<OneCpu> one_;
    std::jthread computing_;
};

TEST_F(ProgressBesideComputation, EmptyPollsBlock) {
    EXPECT_TRUE(blocks());
    EXPECT_FALSE(link.wants) << "and wants no signals while it polls";
}

TEST_F(ProgressBesideComputation, UntrustedPollerLeavesDeviceToHelper) {
    EXPECT_TRUE(polls_until([&] { return link.times_wanted != 0; }));
    EXPECT_TRUE(link.wants) << "for the helper";
}

TEST_F(ProgressBesideComputation, AnArrivalEndsTheBlocking) {
    ASSERT_TRUE(blocks());
    std::jthread arriving([&] {
        within_two_seconds([&] { return link.wants.load(); });
        link.arrive();
        link.signal();
    });
    EXPECT_TRUE(polls_until([&] { return received() == 17; }));
}

TEST_F(ProgressBesideComputation, BlockingIsShort) {
    ASSERT_TRUE(blocks());
    // Nothing arrives. Computation takes its share, so the best of several is what counts.
    auto best = second;
    for (int each = 0; each < 20; ++each) {
        const auto began = monotonic_now();
        if (progress->idle()) best = std::min(best, monotonic_now() - began);
    }
    EXPECT_LT(best, 50 * millisecond);
}

TEST_F(ProgressBesideComputation, WhoDoesOtherWorkBetweenPollsIsNotHeldUp) {
    ASSERT_TRUE(blocks());
    unsigned held_up = 0;
    for (int each = 0; each < 20; ++each) {
        const auto until = monotonic_now() + 50 * microsecond;
        while (monotonic_now() < until) {}
        held_up += progress->idle() ? 1 : 0;
    }
    EXPECT_EQ(held_up, 0u);
}

TEST_F(ProgressBesideComputation, WhoSpinsOnMemoryIsNotHeldUp) {
    ASSERT_TRUE(blocks());
    computing_ = {};  // which is noticed after a tenth of a second only
    progress->leave();
    ASSERT_TRUE(within_two_seconds([&] {
        miss_a_packet();
        return lingers();
    }));
    unsigned held_up = 0;
    for (int each = 0; each < 20; ++each) held_up += progress->idle() ? 1 : 0;
    EXPECT_EQ(held_up, 0u) << "its peer spins as well";
}

}  // namespace
}  // namespace verbline::verbs

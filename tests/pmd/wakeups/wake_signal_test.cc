// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/wakeups/wake_signal.h"

#include <poll.h>

#include <gtest/gtest.h>

namespace verbline::pmd {
namespace {

bool signalled(const WakeSignal& signal) {
    pollfd one{.fd = signal.descriptor(), .events = POLLIN, .revents = 0};
    return poll(&one, 1, 0) == 1;
}

TEST(WakeSignal, CostsNothingWithoutAWaiter) {
    WakeSignal signal;
    EXPECT_FALSE(signal.wake_up());
    EXPECT_FALSE(signalled(signal));
    signal.prepare_to_wait();
    signal.finish_wait();
    signal.wake_up();
    EXPECT_FALSE(signalled(signal));
}

TEST(WakeSignal, IsSentOnceDuringAWait) {
    WakeSignal signal;
    signal.prepare_to_wait();
    EXPECT_TRUE(signal.wake_up());
    EXPECT_TRUE(signalled(signal));
    signal.drain();
    EXPECT_FALSE(signal.wake_up());
    EXPECT_FALSE(signalled(signal)) << "it is awake already";
    signal.prepare_to_wait();
    signal.wake_up();
    EXPECT_TRUE(signalled(signal));
}

TEST(WakeSignal, InterruptsTheNextWaitToo) {
    WakeSignal signal;
    signal.interrupt();
    signal.prepare_to_wait();
    EXPECT_TRUE(signalled(signal));
}

}  // namespace
}  // namespace verbline::pmd

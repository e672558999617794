// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/instance/instance_process.h"

#include <atomic>
#include <csignal>
#include <ctime>

#include <pthread.h>
#include <rte_lcore.h>

#include <gtest/gtest.h>

#include "tests/apps/verbline/scratch.h"

namespace verbline::cli {
namespace {

/// Puts the thread's signals back as they were, without those that a test has sent.
class InstanceProcessTest : public testing::Test {
protected:
    InstanceProcessTest() { pthread_sigmask(SIG_SETMASK, nullptr, &before_); }
    ~InstanceProcessTest() override {
        sigset_t sent;
        sigemptyset(&sent);
        sigaddset(&sent, SIGINT);
        sigaddset(&sent, SIGTERM);
        for (const timespec none{}; sigtimedwait(&sent, nullptr, &none) > 0;) {}
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

private:
    sigset_t before_{};
};

TEST_F(InstanceProcessTest, RunsItsLoopUntilASignal) {
    for (const int signal : {SIGINT, SIGTERM}) {
        const auto process = InstanceProcess::create();
        ASSERT_TRUE(process);
        unsigned tasks = 0;
        (*process)->loop().post([&] { ++tasks; });
        raise(signal);
        (*process)->run();
        EXPECT_EQ(tasks, 1u);
        sigset_t sent;
        sigemptyset(&sent);
        sigaddset(&sent, signal);
        const timespec none{};
        EXPECT_EQ(sigtimedwait(&sent, nullptr, &none), signal);
    }
}

// One test, as DPDK can be started once in a process.
TEST_F(InstanceProcessTest, PollsOnALcoreOfItsOwn) {
    // DPDK's threads outlive rte_eal_cleanup(), and what they sleep on.
    RecordProperty("left_behind", "pipe:;[eventpoll];[timerfd];(socket:;eal-intr-thread;rte-worker;telemetry-v2");
    const Scratch scratch;
    const Variable runtime("RUNTIME_DIRECTORY", scratch.path());
    const auto process = InstanceProcess::create();
    ASSERT_TRUE(process);
    const auto started = (*process)->start_dpdk({.name = "gw", .workers = 1, .memory_mb = 64});
    ASSERT_TRUE(started) << started.error().line;

    auto& worker = (*process)->worker();
    std::atomic<unsigned> lcore{RTE_MAX_LCORE};
    const auto polls = worker.start([&](const std::atomic<bool>& stop) {
        lcore = rte_lcore_id();
        (*process)->loop().stop();
        while (!stop) {}
    });
    ASSERT_TRUE(polls) << polls.error().what;
    (*process)->run();
    EXPECT_EQ(lcore, 1u);
    // The end of the process ends the work, and then DPDK.
}

}  // namespace
}  // namespace verbline::cli

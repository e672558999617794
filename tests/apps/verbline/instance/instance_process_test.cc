// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/instance/instance_process.h"

#include <atomic>
#include <csignal>
#include <ctime>
#include <vector>

#include <pthread.h>
#include <rte_lcore.h>
#include <sched.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
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
        sigaddset(&sent, SIGHUP);
        for (const timespec none{}; sigtimedwait(&sent, nullptr, &none) > 0;) {}
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

private:
    sigset_t before_{};
};

TEST_F(InstanceProcessTest, RunsItsLoopUntilASignal) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        const auto process = InstanceProcess::create();
        ASSERT_TRUE(process);
        unsigned tasks = 0;
        (*process)->loop().post([&] { ++tasks; });
        raise(signal);
        (*process)->run();
        EXPECT_EQ(tasks, 1u);
    }
}

TEST_F(InstanceProcessTest, ReadsItsConfigurationAgainWhenAProcessAsksForIt) {
    const auto process = InstanceProcess::create();
    ASSERT_TRUE(process);
    unsigned reloads = 0;
    (*process)->on_reload([&] {
        if (++reloads < 2)
            raise(SIGHUP);
        else
            raise(SIGTERM);
    });
    raise(SIGHUP);
    (*process)->run();
    EXPECT_EQ(reloads, 2u);
}

// One test, as DPDK can be started once in a process.
TEST_F(InstanceProcessTest, PollsOnEachLcoreButTheControlThreads) {
    // DPDK's threads outlive rte_eal_cleanup(), and what they sleep on.
    RecordProperty("left_behind", "pipe:;[eventpoll];[timerfd];(socket:;eal-intr-thread;rte-worker;telemetry-v2");
    const Scratch scratch;
    const Variable runtime("RUNTIME_DIRECTORY", scratch.path());
    const auto process = InstanceProcess::create();
    ASSERT_TRUE(process);
    const auto started = (*process)->start_dpdk(
        {.name = "gw",
         .arguments = {"--lcores", fmt::format("(0,2,3,5)@{}", sched_getcpu()), "--main-lcore", "2", "--no-huge",
                       "--no-shconf", "--no-pci", "-m", "64", "--log-level", "warning"}});
    ASSERT_TRUE(started) << started.error().line;

    auto& workers = (*process)->workers();
    ASSERT_EQ(workers.size(), 3u);
    std::atomic<unsigned> running{0};
    std::vector<unsigned> lcores(workers.size());
    for (std::size_t i = 0; i < workers.size(); ++i) {
        const auto polls = workers[i].start([&, i](const std::atomic<bool>& stop) {
            lcores[i] = rte_lcore_id();
            if (++running == workers.size()) (*process)->loop().stop();
            while (!stop) sched_yield();
        });
        ASSERT_TRUE(polls) << polls.error().what;
    }
    (*process)->run();
    EXPECT_THAT(lcores, testing::ElementsAre(0, 3, 5));
    // The end of the process ends the work, and then DPDK.
}

}  // namespace
}  // namespace verbline::cli

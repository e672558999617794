// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/worker_lcore.h"

#include <atomic>
#include <cerrno>
#include <optional>
#include <utility>

#include <rte_lcore.h>
#include <sched.h>

#include <gtest/gtest.h>

#include "apps/environment/environment.h"

namespace verbline::pmd {
namespace {

/// DPDK with a main lcore and a worker, both on one CPU.
class TwoLcores : public testing::Environment {
    void SetUp() override {
        auto started = verbline::Environment::start(
            "worker_lcore_test", {"--no-huge", "--no-shconf", "--no-telemetry", "-m", "64", "--no-pci", "--lcores",
                                  "(0-1)@0", "--main-lcore", "0", "--log-level", "error"});
        ASSERT_TRUE(started) << started.error().what;
        environment_.emplace(std::move(*started));
    }
    void TearDown() override { environment_.reset(); }

    std::optional<verbline::Environment> environment_;
};
[[maybe_unused]] const auto* const two_lcores = testing::AddGlobalTestEnvironment(new TwoLcores);

/// Says where it runs, until it is told to stop.
class Work {
public:
    WorkerLcore::Work function() {
        return [this](const std::atomic<bool>& stop) {
            lcore = rte_lcore_id();
            while (!stop) rounds.fetch_add(1);
            ++ended;
        };
    }

    std::atomic<unsigned> lcore{LCORE_ID_ANY}, rounds{0}, ended{0};
};

TEST(WorkerLcore, RunsUntilStopped) {
    Work work;
    WorkerLcore worker(1);
    ASSERT_TRUE(worker.start(work.function()));
    while (work.rounds == 0) sched_yield();
    EXPECT_EQ(work.lcore, 1u);
    EXPECT_EQ(work.ended, 0u);
    worker.request_stop();
    worker.join();
    EXPECT_EQ(work.ended, 1u);
}

TEST(WorkerLcore, DoesOneThingAtATime) {
    Work work, other;
    WorkerLcore worker(1);
    ASSERT_TRUE(worker.start(work.function()));
    const auto busy = worker.start(other.function());
    ASSERT_FALSE(busy);
    EXPECT_EQ(busy.error().code, EBUSY);
    worker.request_stop();
    worker.join();
    EXPECT_EQ(work.ended, 1u);

    ASSERT_TRUE(worker.start(other.function())) << "the first has ended";
    while (other.rounds == 0) sched_yield();
}

TEST(WorkerLcore, EndsItsWorkWhenItIsDestroyed) {
    Work work;
    {
        WorkerLcore worker(1);
        ASSERT_TRUE(worker.start(work.function()));
    }
    EXPECT_EQ(work.ended, 1u);
}

TEST(WorkerLcore, HasNothingToWaitForWithoutWork) {
    WorkerLcore worker(1);
    worker.request_stop();
    worker.join();
}

}  // namespace
}  // namespace verbline::pmd

// SPDX-License-Identifier: BSD-3-Clause
// A shard's thread, which waits, beside threads that have work for it.
#include "datapath/router/runner.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "pmd/base/clock.h"
#include "tests/datapath/router/waiting_shard.h"
#include "tests/support/sanitizer.h"

namespace verbline::router {
namespace {

using test::EventDevice, test::WaitingShard;

/// Runs the shard; no wait of its ends by itself.
class RunningShard : public WaitingShard {
public:
    explicit RunningShard(pmd::NetDevice& link)
        : WaitingShard(link),
          thread_([this] { run(*shard, stop_, {.awake = 0, .awake_polling = 0, .longest_wait = 3600 * second}); }) {}
    ~RunningShard() {
        stop_ = true;
        signal.interrupt();
        thread_.join();
    }

private:
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

template <class Condition>
bool eventually(Condition holds) {
    for (const auto limit = monotonic_now() + 20 * second; !holds(); std::this_thread::yield()) {
        if (monotonic_now() > limit) return false;
    }
    return true;
}

void spin(Time time) {
    for (const auto until = monotonic_now() + time; monotonic_now() < until;) {}
}

/// DPDK's rings have compiler barriers where x86 needs no more, and the thread sanitizer takes that for a race.
constexpr unsigned kinds_of_work = test::thread_sanitizer ? 2 : 3;

/// What comes meets the shard at every moment between its last poll and its sleep.
TEST(Runner, NothingIsLeftLyingWhileTheShardFallsAsleep) {
    EventDevice link;
    RunningShard router(link);
    for (unsigned i = 0; i < 1500; ++i) {
        spin(i % 100 * microsecond / 2);
        const auto before = router.counter("polls_busy");
        switch (i % kinds_of_work) {
            case 0: link.arrive(); break;
            case 1: router.kernel.arrive(); break;
            default: router.command(SetAddress{}); break;
        }
        ASSERT_TRUE(eventually([&] { return router.counter("polls_busy") > before; })) << i;
    }
    EXPECT_GT(router.counter("waits"), 100u);
}

TEST(Runner, DoesNotPollWhileItWaits) {
    EventDevice link;
    RunningShard router(link);
    ASSERT_TRUE(eventually([&] { return router.counter("waits") == 1; }));
    const auto polls = router.counter("polls_idle");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(router.counter("polls_idle"), polls);
}

TEST(Runner, ChangesOfRoutesDoNotWaitForAShardThatWaits) {
    EventDevice link;
    RunningShard router(link);
    ASSERT_TRUE(eventually([&] { return router.counter("waits") == 1; }));
    const auto grace = rte_rcu_qsbr_start(router.readers.get());
    EXPECT_TRUE(eventually([&] { return rte_rcu_qsbr_check(router.readers.get(), grace, false) == 1; }));
}

TEST(Runner, ChangesOfRoutesWaitForAShardOnlyWhileItIsPolled) {
    EventDevice link;
    WaitingShard router(link);
    const auto wait = [&] {
        return rte_rcu_qsbr_check(router.readers.get(), rte_rcu_qsbr_start(router.readers.get()), false) == 0;
    };
    EXPECT_FALSE(wait()) << "it does not run yet";
    router.shard->poll(0);
    EXPECT_TRUE(wait());
    const std::atomic<bool> stop{true};
    run(*router.shard, stop, {});
    EXPECT_FALSE(wait()) << "it runs no more";
}

}  // namespace
}  // namespace verbline::router

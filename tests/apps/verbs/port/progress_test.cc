// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbs/port/progress.h"

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <semaphore>
#include <thread>

#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "pmd/clock.h"
#include "tests/support/eal.h"
#include "tests/support/fake_netdev.h"

namespace verbline::verbs {
namespace {

/// A link that signals, counts who looks at it, and may be stopped in the middle of a look.
class SignallingLink : public test::FakeNetDevice {
public:
    std::uint16_t rx_burst(std::uint16_t queue, pmd::Burst burst) noexcept override {
        if (stops.exchange(false)) {
            entered.release();
            leave.acquire();
        }
        ++looks;
        if (on_look) on_look();
        const std::scoped_lock lock(mutex_);
        return FakeNetDevice::rx_burst(queue, burst);
    }
    int rx_event(std::uint16_t) const noexcept override { return event_.get(); }
    void want_rx_event(std::uint16_t, bool wanted) noexcept override {
        std::uint64_t count = 0;
        std::ignore = read(event_.get(), &count, sizeof count);
        wants = wanted;
    }
    void arrive() {
        const std::scoped_lock lock(mutex_);
        receive(std::array<std::byte, 64>{});
    }
    void signal() const {
        const std::uint64_t one = 1;
        std::ignore = write(event_.get(), &one, sizeof one);
    }

    std::atomic<unsigned> looks{0};
    std::atomic<bool> wants{false}, stops{false};
    std::function<void()> on_look;  ///< by whoever polls
    std::binary_semaphore entered{0}, leave{0};

private:
    FileDescriptor event_{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
    std::mutex mutex_;
};

class ProgressTest : public testing::Test {
protected:
    ProgressTest() {
        link.capabilities().max_packet = 2100;
        device = std::move(*rdma::Device::create(
            {.name = "progress", .device = &link, .pool = test::packet_pool(), .start = monotonic_now()}));
        progress.emplace(link, *device, false);
    }
    ~ProgressTest() override {
        if (!helper.joinable()) return;
        helper.request_stop();
        progress->wake();
        helper.join();
    }
    void start_helper() {
        helper = std::jthread([this](const std::stop_token& stop) { progress->run(stop); });
    }
    template <class Condition>
    static bool within_two_seconds(Condition condition) {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
        while (!condition()) {
            if (std::chrono::steady_clock::now() > until) return false;
            std::this_thread::yield();
        }
        return true;
    }
    /// The program receives often enough to be left alone.
    void own() {
        for (int i = 0; i < 16; ++i) {
            link.arrive();
            progress->drive();
        }
    }
    std::uint64_t received() const { return device->received(0); }

    SignallingLink link;
    std::unique_ptr<rdma::Device> device;
    std::optional<Progress> progress;
    std::jthread helper;
};

TEST_F(ProgressTest, TheHelperSleepsUntilSomethingArrives) {
    start_helper();
    ASSERT_TRUE(within_two_seconds([&] { return link.wants.load(); })) << "it goes to sleep when there is nothing";
    link.arrive();
    link.signal();
    EXPECT_TRUE(within_two_seconds([&] { return received() == 1; }));
    EXPECT_TRUE(within_two_seconds([&] { return link.wants.load(); })) << "and sleeps again";
}

TEST_F(ProgressTest, WhoReceivesOwnsUntilNotSeen) {
    start_helper();
    ASSERT_TRUE(within_two_seconds([&] { return link.wants.load(); }));
    own();
    EXPECT_TRUE(within_two_seconds([&] {
        progress->drive();
        return !link.wants.load();
    })) << "no signals while the program polls";
    link.arrive();  // without a signal: the program is gone, and the helper has to notice
    EXPECT_TRUE(within_two_seconds([&] { return received() == 17; }));
    EXPECT_TRUE(within_two_seconds([&] { return link.wants.load(); }));
}

TEST_F(ProgressTest, WhoLeavesHandsOver) {
    start_helper();
    own();
    progress->leave();
    EXPECT_TRUE(within_two_seconds([&] { return link.wants.load(); }));
}

TEST_F(ProgressTest, WhatIsPostedDuringAPollIsNotLost) {
    link.stops = true;
    std::thread polling([&] { progress->drive(); });
    link.entered.acquire();
    const auto before = link.looks.load();
    EXPECT_FALSE(progress->drive()) << "one at a time";
    progress->posted();
    EXPECT_EQ(link.looks.load(), before) << "it does not wait, either";
    link.leave.release();
    polling.join();
    EXPECT_EQ(link.looks.load(), before + 2) << "who polls goes once more";
}

TEST_F(ProgressTest, NobodyPollsWhileItIsHeld) {
    progress->hold();
    EXPECT_FALSE(progress->drive());
    progress->posted();
    EXPECT_EQ(link.looks.load(), 0u);
    progress->release();
    EXPECT_EQ(link.looks.load(), 1u) << "what was posted meanwhile";
    progress->hold();
    progress->release();
    EXPECT_EQ(link.looks.load(), 1u);
}

TEST_F(ProgressTest, HoldingWaitsForThePoll) {
    link.stops = true;
    std::thread polling([&] { progress->drive(); });
    link.entered.acquire();
    std::atomic<bool> held = false;
    std::thread holding([&] {
        progress->hold();
        held = true;
    });
    EXPECT_FALSE(held);
    link.leave.release();
    holding.join();
    polling.join();
    progress->release();
}

TEST_F(ProgressTest, WhatIsAbandonedDoesNothing) {
    progress->abandon();
    link.arrive();
    EXPECT_FALSE(progress->drive());
    progress->posted();
    progress->leave();
    EXPECT_EQ(link.looks.load(), 0u);
}

TEST_F(ProgressTest, TheEndComesWhenNothingIsToBeSent) {
    const auto began = monotonic_now();
    progress->finish(began + 2 * second);
    EXPECT_LT(monotonic_now() - began, second);
    EXPECT_GE(link.looks, 1u);
}

TEST_F(ProgressTest, TheEndIsPutOffWhereTheLinkHoldsPacketsBack) {
    Progress holding(link, *device, true);
    const auto until = monotonic_now() + 50 * millisecond;
    holding.finish(until);
    EXPECT_GE(monotonic_now(), until);
    EXPECT_GE(link.looks, 1u);
}

TEST_F(ProgressTest, AtTheEndWhoeverPollsIsWaitedForNoLongerThanUntilThen) {
    progress->hold();
    const auto until = monotonic_now() + 50 * millisecond;
    progress->finish(until);
    EXPECT_GE(monotonic_now(), until);
    EXPECT_EQ(link.looks, 0u);
    progress->release();
}

TEST_F(ProgressTest, InTheChildOfAForkTheEndIsNothing) {
    progress->abandon();
    progress->finish(monotonic_now() + second);
    EXPECT_EQ(link.looks, 0u);
}

TEST_F(ProgressTest, LingeringIsForThoseWhoMissPackets) {
    progress->linger();
    EXPECT_EQ(link.looks.load(), 0u) << "nothing says that it would pay";
    // The helper receives right after the program has looked. On a busy machine it may come too late; then once more.
    const bool lingers = within_two_seconds([&] {
        std::stop_source stop;
        const auto before_it = received();
        std::jthread stopping([&] {
            within_two_seconds([&] { return received() != before_it; });
            stop.request_stop();
            progress->wake();
        });
        progress->drive();
        link.arrive();
        progress->run(stop.get_token());
        stopping.join();
        const auto before = link.looks.load();
        progress->linger();
        return link.looks.load() > before;
    });
    EXPECT_TRUE(lingers);
    // In vain each time: it ends.
    EXPECT_TRUE(within_two_seconds([&] {
        const auto before = link.looks.load();
        progress->linger();
        return link.looks.load() == before;
    }));
}

/// The whole process, as far as this thread and those it starts see it.
class OneCpu {
public:
    OneCpu() {
        sched_getaffinity(0, sizeof before_, &before_);
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        sched_setaffinity(0, sizeof one, &one);
    }
    OneCpu(const OneCpu&) = delete;
    OneCpu& operator=(const OneCpu&) = delete;
    ~OneCpu() { sched_setaffinity(0, sizeof before_, &before_); }

private:
    cpu_set_t before_{};
};

class ProgressOnOneCpu : public OneCpu, public ProgressTest {
protected:
    /// What whoever polls next is told when it asks the helper.
    void ask_at_next_look() {
        link.on_look = [this, asked = false]() mutable {
            if (!std::exchange(asked, true)) accepted = progress->ask_helper();
        };
    }
    bool arrives_at_helper() {
        link.arrive();
        link.signal();
        return within_two_seconds([&] { return received() != 0 && link.wants.load(); });
    }

    std::atomic<bool> accepted{false};
    std::atomic<unsigned> served{0};
};

TEST_F(ProgressOnOneCpu, TheHelperServesWhenItIsAsked) {
    progress->serve([this] {
        const auto before = link.looks.load();
        progress->drive();
        EXPECT_GT(link.looks.load(), before) << "outside of the gate: others may poll";
        ++served;
    });
    ask_at_next_look();
    start_helper();
    ASSERT_TRUE(arrives_at_helper());
    EXPECT_TRUE(accepted);
    EXPECT_TRUE(within_two_seconds([&] { return served == 1; }));
}

TEST_F(ProgressOnOneCpu, OthersAreNotAskedToServe) {
    progress->serve([this] { ++served; });
    ask_at_next_look();
    progress->drive();
    EXPECT_FALSE(accepted) << "the program polls: who asks has to tell somebody else";
}

TEST_F(ProgressOnOneCpu, NobodyServesWhenThatHasEnded) {
    progress->serve([this] { ++served; });
    progress->serve({});
    ask_at_next_look();
    start_helper();
    ASSERT_TRUE(arrives_at_helper());
    EXPECT_FALSE(accepted);
    EXPECT_EQ(served, 0u);
}

/// Or it would get packets one at a time.
TEST_F(ProgressOnOneCpu, TheHelperThatServesDoesNotTakeTheCpuFromWhoeverWakesIt) {
    std::atomic<int> policy{-1};
    progress->serve([] {});
    link.on_look = [&policy] { policy = sched_getscheduler(0); };
    start_helper();
    ASSERT_TRUE(arrives_at_helper());
    EXPECT_EQ(policy, SCHED_BATCH);
}

TEST_F(ProgressOnOneCpu, TheHelperThatServesSleepsAtOnce) {
    progress->serve([] {});
    start_helper();
    ASSERT_TRUE(within_two_seconds([&] { return link.wants.load(); }));
    const auto before = link.looks.load();
    ASSERT_TRUE(arrives_at_helper());
    EXPECT_LE(link.looks.load(), before + 24) << "and does not wake every now and then";
}

TEST_F(ProgressOnOneCpu, WhatTheServicePostsIsNotTheProgram) {
    std::atomic<bool> still_wanted{false};
    progress->serve([&] {
        link.wants = true;
        for (int each = 0; each < 16; ++each) {
            link.arrive();
            progress->posted_by_service();
        }
        still_wanted = link.wants.load();
        ++served;
    });
    ask_at_next_look();
    start_helper();
    ASSERT_TRUE(arrives_at_helper());
    EXPECT_TRUE(within_two_seconds([&] { return served == 1; }));
    EXPECT_GE(received(), 16u);
    EXPECT_TRUE(still_wanted) << "who receives that often owns, if it is the program";
}

}  // namespace
}  // namespace verbline::verbs

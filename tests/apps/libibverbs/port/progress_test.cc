// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <semaphore>
#include <thread>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apps/libibverbs/port/own_descriptors.h"
#include "tests/apps/libibverbs/port/progress_fixture.h"

namespace verbline::verbs {
namespace {

TEST_F(ProgressTest, TheHelperSleepsUntilSomethingArrives) {
    start_helper();
    ASSERT_TRUE(within_two_seconds([&] { return link.wants.load(); })) << "it goes to sleep when there is nothing";
    link.arrive();
    link.signal();
    EXPECT_TRUE(within_two_seconds([&] { return received() == 1; }));
    EXPECT_TRUE(within_two_seconds([&] { return link.wants.load(); })) << "and sleeps again";
}

TEST_F(ProgressTest, PollerOwnsDeviceUntilItStops) {
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

TEST_F(ProgressTest, LeaveHandsDeviceToHelper) {
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

/// The program may end right then, with _exit(2) even, and whoever polls with it.
TEST_F(ProgressTest, WhatAServicePostsHasLeftWhenTheCallReturns) {
    link.stops = true;
    std::thread polling([&] { progress->drive(); });
    link.entered.acquire();
    const auto before = link.looks.load();
    std::atomic<bool> returned = false;
    std::thread posting([&] {
        progress->posted_by_service();
        returned = true;
    });
    for (int i = 0; i < 50; ++i) std::this_thread::yield();
    EXPECT_FALSE(returned);
    link.leave.release();
    posting.join();
    polling.join();
    EXPECT_GE(link.looks.load(), before + 2) << "the round that was under way does not count";
}

TEST_F(ProgressTest, AServiceGetsItsTurnBesideAThreadThatPollsAllTheTime) {
    std::atomic<bool> end = false;
    std::thread polling([&] {
        while (!end) progress->drive();
    });
    for (int i = 0; i < 100; ++i) progress->posted_by_service();
    end = true;
    polling.join();
}

TEST_F(ProgressTest, AServiceDoesNotWaitWhereNothingHappensAnyMore) {
    progress->hold();
    progress->abandon();
    progress->posted_by_service();
    EXPECT_EQ(link.looks.load(), 0u);
    progress->release();
}

TEST_F(ProgressTest, PollingPausesWhileItIsHeld) {
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
        progress->release();
    });
    EXPECT_FALSE(held);
    link.leave.release();
    holding.join();
    polling.join();
}

TEST_F(ProgressTest, ALinkThatWantsToBeLookedAfterIsSoon) {
    // 200 ms else, of which only one passes here.
    const auto soon = [&](unsigned times) {
        const auto before = link.looks_after.load();
        const auto until = monotonic_now() + 150 * millisecond;
        while (link.looks_after < before + times && monotonic_now() < until) std::this_thread::yield();
        return link.looks_after >= before + times;
    };
    start_helper();
    ASSERT_TRUE(within_two_seconds([&] { return link.looks_after > 0 && link.wants; }));
    EXPECT_TRUE(within_two_seconds([&] { return !soon(2); })) << "seldom, when nothing is urgent";
    link.urgent = true;
    EXPECT_TRUE(within_two_seconds([&] { return soon(3); })) << "while the helper sleeps, too";
    own();
    EXPECT_TRUE(within_two_seconds([&] {
        progress->drive();
        return soon(3);
    })) << "and while the program polls";
}

TEST_F(ProgressTest, AnUrgentLinkDoesNotKeepTheHelperAwake) {
    link.urgent = true;
    start_helper();
    ASSERT_TRUE(within_two_seconds([&] { return link.looks_after > 2; }));
    const auto before = link.looks_after.load();
    const auto began = monotonic_now();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_LE(link.looks_after - before, (monotonic_now() - began) / millisecond + 1);
}

TEST_F(ProgressTest, LinkUpkeepPausesWhileItIsHeld) {
    std::binary_semaphore entered{0}, leave{0}, begun{0}, end{0};
    link.on_link_up = [&, first = true]() mutable {
        if (!std::exchange(first, false)) return;
        entered.release();
        leave.acquire();
    };
    start_helper();
    entered.acquire();
    std::atomic<bool> held = false;
    std::thread holding([&] {
        progress->hold();
        held = true;
        begun.release();
        end.acquire();
        progress->release();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(held) << "as long as somebody does";
    leave.release();
    begun.acquire();
    link.urgent = true;
    const auto before = link.looks_after.load();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(link.looks_after, before);
    end.release();
    holding.join();
    EXPECT_TRUE(within_two_seconds([&] { return link.looks_after > before; }));
}

TEST_F(ProgressTest, NeverPollsAfterAbandon) {
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
    Progress holding(link, *device, true, true);
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

TEST_F(ProgressTest, FinishAfterAbandonDoesNothing) {
    progress->abandon();
    progress->finish(monotonic_now() + second);
    EXPECT_EQ(link.looks, 0u);
}

TEST_F(ProgressTest, LingersAfterMissedPackets) {
    EXPECT_FALSE(lingers()) << "nothing says that it would pay";
    EXPECT_TRUE(within_two_seconds([&] {
        miss_a_packet();
        return lingers();
    }));
    // In vain each time: it ends.
    EXPECT_TRUE(within_two_seconds([&] { return !lingers(); }));
}

/// The last descriptor of ours that was made.
int wake_descriptor() {
    int wake = -1;
    for (int each = OwnDescriptors::next(0); each < DescriptorSet::capacity; each = OwnDescriptors::next(each + 1)) {
        if (fcntl(each, F_GETFD) >= 0) wake = std::max(wake, each);
    }
    return wake;
}

/// Past the C library, for which the library stands in.
TEST_F(ProgressTest, TheDeviceIsLostWithTheDescriptorThatTheHelperSleepsOn) {
    const int wake = wake_descriptor();
    std::atomic<unsigned> told = 0;
    progress->on_lost([&] { ++told; });
    start_helper();
    ASSERT_TRUE(within_two_seconds([&] { return link.looks > 10; }));
    syscall(SYS_close, wake);
    ASSERT_TRUE(within_two_seconds([&] { return told == 1; })) << "descriptor " << wake;
    const unsigned looks = link.looks;
    EXPECT_FALSE(progress->drive());
    progress->posted();
    EXPECT_EQ(link.looks, looks) << "it is left alone";
}

/// Nothing but the file itself tells: there was a descriptor of this number all the time.
TEST_F(ProgressTest, TheDeviceIsLostWhenAnotherFileIsPutInItsPlace) {
    const int wake = wake_descriptor();
    const auto of_program = static_cast<int>(syscall(SYS_eventfd2, 1, EFD_NONBLOCK));  // readable
    std::atomic<unsigned> told = 0;
    progress->on_lost([&] { ++told; });
    start_helper();
    ASSERT_TRUE(within_two_seconds([&] { return link.looks > 10; }));
    ASSERT_EQ(syscall(SYS_dup3, of_program, wake, 0), wake);
    ASSERT_TRUE(within_two_seconds([&] { return told == 1; }));
    helper.join();
    progress.reset();
    eventfd_t count = 0;
    EXPECT_EQ(eventfd_read(wake, &count), 0) << "still open, and not read by us";
    EXPECT_EQ(count, 1u);
    for (const int each : {wake, of_program}) EXPECT_EQ(close(each), 0);
}

}  // namespace
}  // namespace verbline::verbs

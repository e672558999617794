// SPDX-License-Identifier: BSD-3-Clause
#include <atomic>
#include <thread>
#include <utility>

#include <sched.h>

#include "tests/apps/libibverbs/port/progress_fixture.h"

namespace verbline::verbs {
namespace {

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

TEST_F(ProgressOnOneCpu, TheHelperServesOnRequest) {
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

TEST_F(ProgressOnOneCpu, OthersDoNotServe) {
    progress->serve([this] { ++served; });
    ask_at_next_look();
    progress->drive();
    EXPECT_FALSE(accepted) << "the program polls: who asks has to notify somebody else";
}

TEST_F(ProgressOnOneCpu, ServiceIsRefusedAfterEnd) {
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

// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/interpose/fault_mask.h"

#include <initializer_list>

#include <gtest/gtest.h>

namespace verbline::verbs {
namespace {

sigset_t set_of(std::initializer_list<int> signals) {
    sigset_t set;
    sigemptyset(&set);
    for (const int each : signals) sigaddset(&set, each);
    return set;
}
/// Of the two, what the program is told: 1 for SIGSEGV, 2 for SIGBUS.
int told(const FaultMask& mask) {
    auto set = set_of({SIGUSR1});
    mask.add_to(set);
    EXPECT_EQ(sigismember(&set, SIGUSR1), 1);
    return (sigismember(&set, SIGSEGV) == 1 ? 1 : 0) + (sigismember(&set, SIGBUS) == 1 ? 2 : 0);
}

TEST(FaultMasks, TakeTheTwoOutOfMasks) {
    const auto all = set_of({SIGSEGV, SIGBUS, SIGTERM});
    EXPECT_TRUE(FaultMask::in(all));
    const auto rest = FaultMask::without(all);
    EXPECT_FALSE(FaultMask::in(rest));
    EXPECT_EQ(sigismember(&rest, SIGTERM), 1);
}

TEST(FaultMasks, KeepWhatTheProgramHasAskedFor) {
    FaultMask mask;
    EXPECT_TRUE(mask.empty());
    mask.change(SIG_BLOCK, set_of({SIGSEGV, SIGTERM}));
    EXPECT_EQ(told(mask), 1);
    mask.change(SIG_BLOCK, set_of({SIGBUS}));
    EXPECT_EQ(told(mask), 3);
    mask.change(SIG_UNBLOCK, set_of({SIGSEGV}));
    EXPECT_EQ(told(mask), 2);
    mask.change(SIG_SETMASK, set_of({SIGSEGV}));
    EXPECT_EQ(told(mask), 1);
    mask.change(SIG_SETMASK, set_of({}));
    EXPECT_TRUE(mask.empty());
}

}  // namespace
}  // namespace verbline::verbs

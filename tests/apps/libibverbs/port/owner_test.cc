// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/owner.h"

#include <csignal>
#include <cstddef>
#include <cstdlib>

#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <gtest/gtest.h>

#include "tests/support/sanitizer.h"

namespace verbline::verbs {
namespace {

using Caller = Owner::Caller;

int status_of(pid_t child) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, __WALL), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

/// A child that runs in this process's memory, as vfork's does, and says who it is.
int borrower(int flags) {
    constexpr std::size_t size = 64 << 10;
    auto* const stack = static_cast<std::byte*>(
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0));
    const auto says = [](void*) {
        return Owner::caller() != Caller::borrower || Owner::in_copy() ? 10 : Owner::shares_descriptors() ? 1 : 0;
    };
    const int answer = status_of(clone(says, stack + size, CLONE_VM | CLONE_VFORK | SIGCHLD | flags, nullptr));
    munmap(stack, size);
    return answer;
}

class Owners : public testing::Test {
protected:
    void SetUp() override { Owner::claim(); }
};

TEST_F(Owners, ClaimingProcessIsOwner) {
    EXPECT_EQ(Owner::caller(), Caller::owner);
    EXPECT_FALSE(Owner::in_copy());
    EXPECT_EQ(Owner::pid(), getpid());
    EXPECT_TRUE(Owner::shares_descriptors());
}

TEST_F(Owners, ACopyKnowsThatItIsOneHoweverItWasMade) {
    const auto is_copy = [] {
        return Owner::in_copy() && Owner::caller() == Caller::copy && !Owner::shares_descriptors();
    };
    for (const bool raw : {false, true}) {
        const auto child = raw ? static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) : fork();
        if (child == 0) _exit(is_copy() ? 0 : 1);
        EXPECT_EQ(status_of(child), 0) << raw;
    }
}

TEST_F(Owners, ACopyMayClaim) {
    const auto child = fork();
    if (child == 0) {
        Owner::claim();
        _exit(Owner::caller() == Caller::owner && !Owner::in_copy() && Owner::pid() == getpid() ? 0 : 1);
    }
    EXPECT_EQ(status_of(child), 0);
    EXPECT_EQ(Owner::pid(), getpid()) << "the copy has a page of its own";
}

TEST_F(Owners, WhoRunsInTheirMemoryIsNone) {
    if (test::thread_sanitizer) GTEST_SKIP() << "a second process in the same memory ends ThreadSanitizer's runtime";
    EXPECT_EQ(borrower(0), 0) << "with descriptors of its own";
    EXPECT_EQ(borrower(CLONE_FILES), 1) << "with those of the owner";
}

}  // namespace
}  // namespace verbline::verbs

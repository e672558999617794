// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/resources.h"

#include <atomic>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <rte_malloc.h>
#include <rte_ring.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/packet.h"

namespace verbline::test {
namespace {

using ::testing::Contains, ::testing::HasSubstr, ::testing::IsEmpty;

struct ResourcesTest : ::testing::Test {
    std::vector<std::string> leaks() const { return Resources::now().leaked_since(before); }

    Resources before = Resources::now();
};

TEST_F(ResourcesTest, NothingLeaksByLooking) {
    EXPECT_THAT(leaks(), IsEmpty());
}

TEST_F(ResourcesTest, DescriptorsAreNamed) {
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    EXPECT_THAT(leaks(), ::testing::ElementsAre("descriptor " + std::to_string(null) + " (/dev/null)"));
    // In its place, by dup2 or by a close too many: as bad.
    const auto with_null = Resources::now();
    close(null);
    EXPECT_THAT(Resources::now().leaked_since(with_null), Contains(HasSubstr("is gone")));
}

TEST_F(ResourcesTest, WhatAnotherThreadOpensForAMomentIsNotLasting) {
    std::atomic<bool> done = false;
    std::jthread other([&] { done.wait(false); });
    const int lasts = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int passes = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    bool open = true;
    const auto look = Resources::lasting(before, [&] {
        if (std::exchange(open, false)) close(passes);
    });
    EXPECT_TRUE(look.descriptors.contains(lasts));
    EXPECT_FALSE(look.descriptors.contains(passes));
    Resources::lasting(look, [] { ADD_FAILURE() << "nothing new is open"; });
    close(lasts);
    done = true;
    done.notify_one();
}

TEST_F(ResourcesTest, ThreadsAndChildrenAreNamed) {
    std::atomic<bool> done = false;
    std::thread thread([&] { done.wait(false); });
    EXPECT_THAT(leaks(), Contains(HasSubstr("thread ")));
    done = true;
    done.notify_one();
    thread.join();
    const auto child = fork();
    if (child == 0) _exit(0);
    EXPECT_THAT(leaks(), Contains(HasSubstr("child process " + std::to_string(child))));
    waitpid(child, nullptr, 0);
}

TEST_F(ResourcesTest, PacketsRingsAndMemoryOfDpdkAreNamed) {
    auto packet = make_packet(pattern(10));
    EXPECT_THAT(leaks(), ::testing::ElementsAre("mempool packets: 1 objects in use, 0 before"));
    packet.reset();
    auto* const ring = rte_ring_create("kept", 64, SOCKET_ID_ANY, 0);
    EXPECT_THAT(leaks(), Contains(HasSubstr("memory zone RG_kept")));
    rte_ring_free(ring);
    void* const memory = rte_malloc(nullptr, 100, 0);
    EXPECT_THAT(leaks(), ::testing::ElementsAre("1 allocations of rte_malloc"));
    rte_free(memory);
    EXPECT_THAT(leaks(), IsEmpty());
}

}  // namespace
}  // namespace verbline::test

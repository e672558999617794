// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/tun/netns.h"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "tests/support/namespace.h"

namespace verbline::pmd {
namespace {

ino_t current() {
    struct stat status{};
    EXPECT_EQ(stat("/proc/thread-self/ns/net", &status), 0);
    return status.st_ino;
}

TEST(NetnsGuard, GoesThereAndBack) {
    SKIP_UNLESS_ROOT();
    const test::Namespace other;
    const auto home = current();
    {
        const auto guard = NetnsGuard::enter(other.path());
        ASSERT_TRUE(guard) << guard.error().what;
        EXPECT_NE(current(), home);
    }
    EXPECT_EQ(current(), home);
}

TEST(NetnsGuard, NoNameStaysAtHome) {
    const auto home = current();
    const auto guard = NetnsGuard::enter("");
    ASSERT_TRUE(guard);
    EXPECT_EQ(current(), home);
}

TEST(NetnsGuard, AnUnknownNameIsOneLine) {
    const auto guard = NetnsGuard::enter("no-such-namespace");
    ASSERT_FALSE(guard);
    EXPECT_EQ(guard.error().code, ENOENT);
    EXPECT_EQ(guard.error().what,
              "cannot open network namespace /run/netns/no-such-namespace: No such file or directory; "
              "create it with `ip netns add`");
}

}  // namespace
}  // namespace verbline::pmd

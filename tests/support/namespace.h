// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A network namespace of the test's own, gone with the object; nothing of it shows under /run/netns.
///
///     SKIP_UNLESS_ROOT();
///     Namespace left;
///     options.netns = left.path();
///     left.run("ip address add 10.0.0.1/24 dev tun0");
///     left.enter([&] { ... sockets ... });

#include <cstdlib>
#include <functional>
#include <string>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "pmd/base/file_descriptor.h"

#define SKIP_UNLESS_ROOT() \
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to make network namespaces and interfaces"

namespace verbline::test {

class Namespace {
public:
    Namespace() {
        std::thread([this] {
            if (unshare(CLONE_NEWNET) != 0) throw std::system_error(errno, std::generic_category(), "unshare");
            fd_ = FileDescriptor(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
        }).join();
        run("ip link set lo up");
    }

    std::string path() const { return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd_.get()); }

    /// Runs a shell command inside; fails the test if it fails.
    void run(const std::string& command) const {
        const auto line = "nsenter --net=" + path() + " " + command;
        EXPECT_EQ(std::system(line.c_str()), 0) << line;
    }

    /// Calls `work` on a thread inside and waits for it.
    void enter(const std::function<void()>& work) const {
        std::thread([&] {
            if (setns(fd_.get(), CLONE_NEWNET) != 0) throw std::system_error(errno, std::generic_category(), "setns");
            work();
        }).join();
    }

private:
    FileDescriptor fd_;
};

}  // namespace verbline::test

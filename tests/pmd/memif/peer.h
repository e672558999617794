// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A second process with a memif of its own: this test binary started again, running one disabled test as its role.

#include <csignal>
#include <filesystem>
#include <string>
#include <system_error>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace verbline::test {

class Peer {
public:
    /// `role` is the name of the disabled test; `path` reaches it as VERBLINE_TEST_SOCKET.
    Peer(const std::string& role, const std::string& path) {
        std::string filter = "--gtest_filter=" + role;
        std::string disabled = "--gtest_also_run_disabled_tests", brief = "--gtest_brief=1", self = "/proc/self/exe";
        char* const arguments[] = {self.data(), filter.data(), disabled.data(), brief.data(), nullptr};
        setenv("VERBLINE_TEST_SOCKET", path.c_str(), 1);
        EXPECT_EQ(posix_spawn(&pid_, self.c_str(), nullptr, nullptr, arguments, environ), 0);
    }
    ~Peer() { kill_now(); }
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    void kill_now() {
        if (pid_ <= 0) return;
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        std::error_code ignored;  // what its DPDK could not tidy up
        std::filesystem::remove_all("/var/run/dpdk/verbline-test-" + std::to_string(pid_), ignored);
        pid_ = 0;
    }

private:
    pid_t pid_ = 0;
};

}  // namespace verbline::test

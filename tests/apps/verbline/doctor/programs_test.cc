// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/doctor/programs.h"

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

namespace verbline::doctor {
namespace {

Result<std::string> shell(const std::string& script, std::chrono::milliseconds limit = std::chrono::seconds(30)) {
    InstalledPrograms programs(limit);
    const std::vector<std::string> words{"sh", "-c", script};
    return programs.output(words);
}

int code(const Result<std::string>& result) {
    return result ? 0 : result.error().code;
}

TEST(InstalledPrograms, GiveWhatIsPrinted) {
    EXPECT_EQ(shell("echo one; echo two"), "one\ntwo\n");
    EXPECT_EQ(shell("echo error >&2"), "");
    EXPECT_EQ(shell("cat"), "");  // there is no input
}

TEST(InstalledPrograms, FailureIsNoOutput) {
    EXPECT_EQ(code(shell("echo one; exit 1")), EIO);
    EXPECT_EQ(code(shell("kill -9 $$")), EIO);
}

TEST(InstalledPrograms, MissingOneIsToldApart) {
    InstalledPrograms programs;
    const std::vector<std::string> words{"no-such-program"};
    EXPECT_EQ(code(programs.output(words)), ENOENT);
}

TEST(InstalledPrograms, OutputIsBounded) {
    EXPECT_EQ(code(shell("exec yes")), EIO);
}

TEST(InstalledPrograms, OneThatDoesNotEndIsKilled) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(code(shell("exec sleep 100", std::chrono::milliseconds(20))), ETIMEDOUT);
    EXPECT_EQ(code(shell("exec sleep 100 >/dev/null", std::chrono::milliseconds(200))), ETIMEDOUT);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

}  // namespace
}  // namespace verbline::doctor

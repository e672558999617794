// SPDX-License-Identifier: BSD-3-Clause
// The main program of every unit test and simulation. A test that leaves anything behind fails, whatever it is about.

#include <chrono>
#include <cstdlib>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/resources.h"
#include "tests/support/sanitizer.h"

namespace verbline::test {
namespace {

void forgive(const std::string& left, std::vector<std::string>& leaks) {
    std::istringstream parts(left);
    for (std::string part; std::getline(parts, part, ';');) {
        if (part.empty()) continue;
        std::erase_if(leaks, [&](const auto& leak) { return leak.contains(part); });
    }
}

/// What a test says that it leaves behind, with a reason: RecordProperty("left_behind", "one;another").
void forgive(const ::testing::TestInfo& test, std::vector<std::string>& leaks) {
    for (int i = 0; i < test.result()->test_property_count(); ++i) {
        const auto& property = test.result()->GetTestProperty(i);
        if (property.key() != std::string_view("left_behind")) continue;
        forgive(property.value(), leaks);
    }
}

/// What a whole program leaves behind: its meson.build says what, and why. The thread sanitizer has a thread of its
/// own, from when the first other one is made.
std::string left_by_program() {
    const char* const given = std::getenv("VERBLINE_LEFT_BEHIND");
    return std::string(thread_sanitizer ? "thread ;" : "") + (given != nullptr ? given : "");
}

/// A thread that was joined or detached, and a child that was waited for, may be seen a moment longer.
std::vector<std::string> leaked_since(const Resources& before, std::span<const ::testing::TestInfo* const> tests) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    for (;;) {
        auto leaks = Resources::now().leaked_since(before);
        for (const auto* test : tests) forgive(*test, leaks);
        forgive(left_by_program(), leaks);
        if (leaks.empty() || std::chrono::steady_clock::now() > limit) return leaks;
        std::this_thread::yield();
    }
}

/// Around each test, its fixture included, and around each suite with what its tests share.
class LeakListener : public ::testing::EmptyTestEventListener {
    void OnTestSuiteStart(const ::testing::TestSuite&) override { before_suite_ = look(); }
    void OnTestStart(const ::testing::TestInfo&) override { before_test_ = look(); }
    void OnTestEnd(const ::testing::TestInfo& test) override { check(before_test_, {&test}); }
    void OnTestSuiteEnd(const ::testing::TestSuite& suite) override {
        if (suite.Failed()) return;  // the test that leaked has said so
        std::vector<const ::testing::TestInfo*> tests;
        for (int i = 0; i < suite.total_test_count(); ++i) tests.push_back(suite.GetTestInfo(i));
        check(before_suite_, tests);
    }

    const Resources& look() { return last_ = Resources::lasting(last_); }

    static void check(const Resources& before, const std::vector<const ::testing::TestInfo*>& tests) {
        for (const auto& leak : leaked_since(before, tests)) ADD_FAILURE() << "left behind: " << leak;
    }

    Resources last_, before_suite_, before_test_;
};

}  // namespace
}  // namespace verbline::test

int main(int argc, char** argv) {
    ::testing::InitGoogleMock(&argc, argv);
    ::testing::UnitTest::GetInstance()->listeners().Append(new verbline::test::LeakListener);
    return RUN_ALL_TESTS();
}

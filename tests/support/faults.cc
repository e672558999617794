// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/faults.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <new>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/faults_state.h"
#include "tests/support/resources.h"

namespace verbline::test {
namespace {

/// The fault of one run: the call it is for, counted from 1, and which of its errnos.
struct Plan {
    unsigned call = 0;
    std::size_t error = 0;
};

/// Of the thread that runs a scenario.
struct Run {
    bool armed = false;
    Plan plan;
    Inject inject = Inject::calls_and_memory;
    unsigned calls = 0;
    std::size_t errors = 0;  ///< errnos of the call that the plan is for; 0: the run did not get there
    const char* failed = nullptr;
    int code = 0;
};
thread_local Run current;

constexpr unsigned most_calls = 5000;  ///< a scenario that makes more does not end by itself

std::string describe(const Run& run) {
    return fmt::format("call {}: {} fails, {}", run.plan.call, run.failed, strerrorname_np(run.code));
}

/// Of the test under way: what is expected inside of the scenario.
int failed_parts() {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    return test != nullptr ? test->result()->total_part_count() : 0;
}

/// What the whole program may leave behind, as its meson.build says (main.cc).
bool may_be_left(const std::string& leak) {
    const char* const given = std::getenv("VERBLINE_LEFT_BEHIND");
    std::istringstream parts(given != nullptr ? given : "");
    for (std::string part; std::getline(parts, part, ';');) {
        if (!part.empty() && leak.contains(part)) return true;
    }
    return false;
}

/// One run, and everything that is wrong with how it ended.
/// `before`: what the last run found when it began.
std::vector<std::string> run_once(const std::function<Outcome()>& run, FaultTally& tally, Resources& before) {
    before = Resources::lasting(before);
    Outcome outcome;
    bool out_of_memory = false;
    std::optional<std::string> thrown;
    current.armed = true;
    try {
        outcome = run();
    } catch (const std::bad_alloc&) {
        out_of_memory = true;
    } catch (const std::exception& unexpected) {
        thrown = unexpected.what();
    }
    current.armed = false;
    auto wrong = Resources::settled_since(before, may_be_left);
    for (auto& leak : wrong) leak = "left behind: " + leak;
    if (thrown) wrong.push_back("thrown: " + *thrown);
    if (outcome && (outcome->what.empty() || outcome->what.contains('\n'))) {
        wrong.push_back("not one line: `" + outcome->what + "`");
    }
    if (outcome && outcome->code == 0) wrong.push_back("an error without a code: " + outcome->what);
    if (outcome) tally.last_error = outcome->what;
    ++(out_of_memory ? tally.out_of_memory : outcome ? tally.errors : tally.recovered);
    return wrong;
}

}  // namespace

int faults::injected(const char* call, std::initializer_list<int> errnos) noexcept {
    auto& run = current;
    if (!run.armed || (run.inject == Inject::calls && call == std::string_view("new"))) return 0;
    if (++run.calls != run.plan.call) return 0;
    run.errors = errnos.size();
    run.failed = call;
    // Runs need not make the same calls in the same order: another one may stand here now, with fewer errors.
    run.code = *(errnos.begin() + run.plan.error % errnos.size());
    return run.code;
}

WithoutFaults::WithoutFaults() : before_(std::exchange(current.armed, false)) {}

WithoutFaults::~WithoutFaults() {
    current.armed = before_;
}

FaultTally expect_survives_faults(std::string_view scenario, const std::function<Outcome()>& run, Inject inject) {
    FaultTally tally, clean;
    Resources resources;
    current = {.inject = inject};
    EXPECT_EQ(run_once(run, clean, resources), std::vector<std::string>{}) << scenario << ", without a fault";
    EXPECT_EQ(clean.recovered, 1u) << scenario << " fails without a fault: " << clean.last_error;
    tally.calls = current.calls;
    for (Plan plan{.call = 1}; plan.call < most_calls;) {
        current = {.plan = plan, .inject = inject};
        FaultTally one;
        const auto before = failed_parts();
        auto wrong = run_once(run, one, resources);
        if (failed_parts() != before) wrong.emplace_back("as above");
        if (current.errors == 0) break;  // it ended before
        if (!wrong.empty())
            ADD_FAILURE() << scenario << ", " << describe(current) << ": " << fmt::format("{}", fmt::join(wrong, "; "));
        ++tally.faults;
        tally.errors += one.errors, tally.out_of_memory += one.out_of_memory, tally.recovered += one.recovered;
        if (++plan.error >= current.errors) plan = {.call = plan.call + 1};
    }
    EXPECT_LT(tally.calls, most_calls) << scenario << " does not end by itself";
    fmt::print("    {}: {} calls, {} faults: {} errors, {} out of memory, {} recovered\n", scenario, tally.calls,
               tally.faults, tally.errors, tally.out_of_memory, tally.recovered);
    return tally;
}

}  // namespace verbline::test

// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/cm_simulation.h"

#include <cstdio>

#include <gtest/gtest.h>

namespace verbline::sim {
namespace {

/// 500 where it is fast: 10,000 schedules in all. Sanitizers do with some of them.
constexpr std::uint64_t schedules_per_case = SCHEDULES_PER_CASE, cases = 20;

class CmSimulation : public testing::TestWithParam<std::uint64_t> {
protected:
    static void TearDownTestSuite() { std::fputs(text(sum).c_str(), stdout); }
    static inline CmSummary sum;
};

TEST_P(CmSimulation, KeepsItsPromises) {
    for (auto seed = GetParam(); seed < GetParam() + schedules_per_case; ++seed) {
        const auto result = simulate_cm(Seed{seed});
        EXPECT_EQ(result.fault, "") << "replay: tests/sim/simulate_cm " << seed << " --trace";
        sum += result.summary;
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, CmSimulation,
                         testing::Range<std::uint64_t>(0, cases* schedules_per_case, schedules_per_case));

TEST(CmSimulationItself, TakesTheSameWayForTheSameSeed) {
    for (std::uint64_t seed = 1; seed < 20; ++seed) {
        EXPECT_EQ(simulate_cm(Seed{seed}).summary, simulate_cm(Seed{seed}).summary) << seed;
    }
}

}  // namespace
}  // namespace verbline::sim

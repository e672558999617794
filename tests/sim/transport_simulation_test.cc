// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/transport_simulation.h"

#include <cstdio>

#include <gtest/gtest.h>

#include "tests/support/eal.h"

namespace verbline::sim {
namespace {

/// 500 where it is fast: 10,000 schedules in all. Sanitizers do with some of them.
constexpr std::uint64_t schedules_per_case = SCHEDULES_PER_CASE, cases = 20;

class TransportSimulation : public testing::TestWithParam<std::uint64_t> {
protected:
    static void SetUpTestSuite() {
        pool = rte_pktmbuf_pool_create("sim", 16383, 256, 0, RTE_PKTMBUF_HEADROOM + 4352, SOCKET_ID_ANY);
        ASSERT_NE(pool, nullptr);
    }
    static void TearDownTestSuite() {
        std::fputs(text(sum).c_str(), stdout);
        rte_mempool_free(pool);
    }

    static inline rte_mempool* pool = nullptr;
    static inline SimulationSummary sum;
};

TEST_P(TransportSimulation, KeepsItsPromises) {
    for (auto seed = GetParam(); seed < GetParam() + schedules_per_case; ++seed) {
        const auto result = simulate(Seed{seed}, *pool);
        EXPECT_EQ(result.fault, "") << "replay: tests/sim/simulate " << seed << " --trace";
        sum += result.summary;
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, TransportSimulation,
                         testing::Range<std::uint64_t>(0, cases* schedules_per_case, schedules_per_case));

TEST(TransportSimulationItself, TakesTheSameWayForTheSameSeed) {
    auto* const pool = rte_pktmbuf_pool_create("sim2", 16383, 256, 0, RTE_PKTMBUF_HEADROOM + 4352, SOCKET_ID_ANY);
    ASSERT_NE(pool, nullptr);
    for (std::uint64_t seed = 1; seed < 20; ++seed) {
        const auto once = simulate(Seed{seed}, *pool), again = simulate(Seed{seed}, *pool);
        EXPECT_EQ(text(once.summary), text(again.summary)) << seed;
        EXPECT_EQ(once.summary.virtual_time, again.summary.virtual_time) << seed;
    }
    rte_mempool_free(pool);
}

}  // namespace
}  // namespace verbline::sim

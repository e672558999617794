// SPDX-License-Identifier: BSD-3-Clause
// Every verbs object destroyed while others use the device, its helper thread among them: random schedules.
#include <cinttypes>
#include <cstdio>

#include "tests/apps/libibverbs/objects/destruction_program.h"
#include "tests/support/verbs_device.h"

namespace verbline::destruction {
namespace {

constexpr std::uint64_t schedules_per_case = 100, cases = 20;

class Destruction : public testing::TestWithParam<std::uint64_t> {
protected:
    static void TearDownTestSuite() {
        std::printf("%" PRIu64 " schedules, %" PRIu64 " completions, %" PRIu64 " refused as busy; destroyed:",
                    schedules, completed, refused);
        for (const auto& [kind, count] : destroyed) {
            std::printf(" %" PRIu64 " %.*s,", count, static_cast<int>(kind.size()), kind.data());
        }
        std::printf(" and %" PRIu64 " contexts closed, %" PRIu64 " of them with all that was left\n", schedules,
                    closed_first);
    }
    static std::string run(sim::Seed seed) {
        sim::Random random(seed);
        Program program(test::the_device(), random);
        for (int step = 0; step < 200 && program.fault().empty(); ++step) program.act();
        const bool with_all = random.chance(0.3);
        program.destroy_all(with_all);
        ++schedules, closed_first += with_all ? 1 : 0;
        completed += program.completed(), refused += program.refused();
        for (const auto& [kind, count] : program.destroyed()) destroyed[kind] += count;
        return program.fault();
    }

    static inline std::uint64_t schedules = 0, completed = 0, refused = 0, closed_first = 0;
    static inline Counts destroyed;
};

TEST_P(Destruction, RefusesWhatIsInUseAndLeavesNothingBehind) {
    for (auto seed = GetParam(); seed < GetParam() + schedules_per_case; ++seed) {
        ASSERT_EQ(run(sim::Seed{seed}), "") << "seed " << seed;
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Destruction,
                         testing::Range<std::uint64_t>(0, cases* schedules_per_case, schedules_per_case));

}  // namespace
}  // namespace verbline::destruction

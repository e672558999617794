// SPDX-License-Identifier: BSD-3-Clause
// Runs simulated schedules of connection managers by seed: `simulate_cm 4711 --trace` replays what a test says has
// failed; `simulate_cm 0 --schedules 10000` looks for more.

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/sim/cm_simulation.h"

int main(int argc, char** argv) {
    using namespace verbline;
    std::uint64_t first = 0, schedules = 1;
    bool trace = false, valid = argc > 1;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        char* end = nullptr;
        if (word == "--trace") {
            trace = true;
        } else if (word == "--schedules" && i + 1 < argc) {
            schedules = std::strtoull(argv[++i], &end, 10);
        } else {
            first = std::strtoull(argv[i], &end, 10);
        }
        valid &= end == nullptr || *end == '\0';
    }
    if (!valid) return std::fputs("usage: simulate_cm SEED [--schedules N] [--trace]\n", stderr), 2;
    sim::CmSummary sum;
    unsigned failed = 0;
    for (auto seed = first; seed < first + schedules; ++seed) {
        const auto result = sim::simulate_cm(sim::Seed{seed}, trace);
        sum += result.summary;
        if (result.fault.empty()) continue;
        std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), result.fault.c_str());
        ++failed;
    }
    std::printf("%s%u failed\n", text(sum).c_str(), failed);
    return failed == 0 ? 0 : 1;
}

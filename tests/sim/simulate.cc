// SPDX-License-Identifier: BSD-3-Clause
// Runs simulated schedules by seed: `simulate 4711 --trace` replays what a test says has failed.

#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "tests/sim/transport_simulation.h"
#include "tests/support/eal.h"

namespace {

using namespace verbline;

constexpr auto usage =
    "usage: simulate SEED... [--schedules N] [--trace]\n"
    "  N schedules from each seed on; --trace tells what happens in them\n";

struct Arguments {
    std::vector<std::uint64_t> seeds;
    std::uint64_t schedules = 1;
    bool trace = false, valid = true;
};

bool number(std::string_view text, std::uint64_t& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size();
}

Arguments parse(int argc, char** argv) {
    Arguments arguments;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        std::uint64_t seed = 0;
        if (word == "--trace") {
            arguments.trace = true;
        } else if (word == "--schedules" && i + 1 < argc) {
            arguments.valid &= number(argv[++i], arguments.schedules);
        } else if (number(word, seed)) {
            arguments.seeds.push_back(seed);
        } else {
            arguments.valid = false;
        }
    }
    arguments.valid &= !arguments.seeds.empty();
    return arguments;
}

}  // namespace

int main(int argc, char** argv) {
    const auto arguments = parse(argc, argv);
    if (!arguments.valid) return std::fputs(usage, stderr), 2;
    test::eal.SetUp();
    auto* const pool = rte_pktmbuf_pool_create("sim", 16383, 256, 0, RTE_PKTMBUF_HEADROOM + 4352, SOCKET_ID_ANY);
    if (pool == nullptr) return std::fputs("no memory for packets\n", stderr), 1;
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    sim::SimulationSummary sum;
    unsigned failed = 0;
    for (const auto first : arguments.seeds) {
        for (auto seed = first; seed < first + arguments.schedules; ++seed) {
            const auto result = sim::simulate(sim::Seed{seed}, *pool, arguments.trace);
            sum += result.summary;
            if (result.fault.empty()) continue;
            std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), result.fault.c_str());
            ++failed;
        }
    }
    std::printf("%s%u failed\n", sim::text(sum).c_str(), failed);
    rte_mempool_free(pool);
    test::eal.TearDown();
    return failed == 0 ? 0 : 1;
}

// SPDX-License-Identifier: BSD-3-Clause
// Frames through a memif and back out, both ends in one thread: what a frame costs the two processes together.
#include <array>
#include <filesystem>
#include <span>

#include <rte_mbuf.h>
#include <unistd.h>

#include <benchmark/benchmark.h>

#include "bench/support/eal.h"
#include "pmd/memif/memif.h"

namespace {

using namespace verbline;

void Memif(benchmark::State& state) {
    const auto path = std::filesystem::temp_directory_path() / ("verbline-bench-" + std::to_string(getpid()));
    pmd::MemifOptions options{.path = path, .server = true, .log2_ring_size = static_cast<unsigned>(state.range(1))};
    const auto server = pmd::Memif::create(options, bench::packet_pool());
    options.server = false;
    const auto client = pmd::Memif::create(options, bench::packet_pool());
    if (!server || !client || !(*server)->up() || !(*client)->up()) return state.SkipWithError("no memif");
    while (!(*client)->link_up()) (*server)->link_up();

    const auto size = static_cast<std::uint16_t>(state.range(0));
    std::array<rte_mbuf*, 32> burst;
    std::int64_t frames = 0;
    for (auto _ : state) {
        if (rte_pktmbuf_alloc_bulk(bench::packet_pool(), burst.data(), burst.size()) != 0) break;
        for (auto* packet : burst) rte_pktmbuf_append(packet, size);
        (*client)->tx_burst(0, burst);
        const auto n = (*server)->rx_burst(0, burst);
        rte_pktmbuf_free_bulk(burst.data(), n);
        frames += n;
    }
    state.SetItemsProcessed(frames);
    state.SetBytesProcessed(frames * size);
}
BENCHMARK(Memif)->ArgNames({"bytes", "log2_ring"})->ArgsProduct({{64, 2110}, {7, 8, 9, 10, 11, 12}});

}  // namespace

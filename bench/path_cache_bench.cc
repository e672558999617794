// SPDX-License-Identifier: BSD-3-Clause
// A path-cache lookup by the control plane. bench/sa_query_bench.cc measures what a hit saves.
#include <algorithm>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "control/sa/path_cache.h"

namespace {

using namespace verbline;

constexpr Time now = 1;

sa::PathKey key(std::uint64_t n) {
    return {.source = wire::Gid::of(wire::default_subnet_prefix, wire::Guid{1}),
            .destination = wire::Gid::of(wire::default_subnet_prefix, wire::Guid{0x0002'c903'0000'0000 + n})};
}

/// The cache then knows `paths` paths.
void fill(sa::PathCache& cache, std::uint64_t paths) {
    for (std::uint64_t n = 0; n < paths; ++n) {
        sa::PathCache::Actions actions;
        cache.resolve(key(n), sa::Waiter{n}, now, actions);
        cache.answered(std::get<sa::PathCache::Query>(actions.at(0)).id,
                       wire::PathRecord{.destination_gid = key(n).destination}, now, actions);
    }
}

/// Keys in an order that no cache of the processor foresees.
std::vector<sa::PathKey> shuffled(std::uint64_t first, std::uint64_t count) {
    std::vector<sa::PathKey> keys;
    for (std::uint64_t n = 0; n < count; ++n) keys.push_back(key(first + n));
    std::ranges::shuffle(keys, std::mt19937_64(1));
    return keys;
}

void look_up(benchmark::State& state, std::uint64_t paths, const std::vector<sa::PathKey>& keys,
             sa::PathCache::Found expected) {
    sa::PathCache cache;
    fill(cache, paths);
    std::size_t i = 0;
    for (auto _ : state) {
        const auto found = cache.find(keys[i], now);
        if (found.found != expected) return state.SkipWithError("the cache is not in the state to be measured");
        benchmark::DoNotOptimize(found.path);
        i = i + 1 == keys.size() ? 0 : i + 1;
    }
}

/// The nodes of a middling subnet, each as likely as any other.
void path_cache_hit(benchmark::State& state) {
    look_up(state, 1024, shuffled(0, 1024), sa::PathCache::Found::fresh);
}
BENCHMARK(path_cache_hit);

/// As many as the cache holds: more than the processor's caches do.
void path_cache_hit_full(benchmark::State& state) {
    const auto paths = sa::PathCacheLimits{}.max_paths;
    look_up(state, paths, shuffled(0, paths), sa::PathCache::Found::fresh);
}
BENCHMARK(path_cache_hit_full);

void path_cache_miss(benchmark::State& state) {
    look_up(state, 1024, shuffled(1'000'000, 1024), sa::PathCache::Found::unknown);
}
BENCHMARK(path_cache_miss);

}  // namespace

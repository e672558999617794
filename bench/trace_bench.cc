// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// What an event costs the thread that records it: beside the time stamp counter alone, and without a ring.

#include <memory>

#include <rte_cycles.h>

#include <benchmark/benchmark.h>

#include "pmd/trace/trace_ring.h"

namespace verbline::pmd {
namespace {

void record(benchmark::State& state) {
    const auto ring = std::make_unique<TraceRing>();
    Trace trace(ring.get());
    std::size_t value = 0;
    for (auto _ : state) {
        trace.record(TraceEvent::received, 1, ++value);
        benchmark::ClobberMemory();
    }
}

void record_nothing(benchmark::State& state) {
    Trace trace;
    benchmark::DoNotOptimize(trace);
    for (auto _ : state) {
        trace.record(TraceEvent::received, 1, 32);
        benchmark::ClobberMemory();
    }
}

void time_stamp_counter(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(rte_rdtsc());
}

BENCHMARK(record);
BENCHMARK(record_nothing);
BENCHMARK(time_stamp_counter);

}  // namespace
}  // namespace verbline::pmd

// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// What congestion control costs a packet: nothing but a branch while the network is quiet, and a rate and a pause
/// while it is not.

#include <algorithm>

#include <benchmark/benchmark.h>

#include "datapath/congestion/cnp.h"
#include "datapath/congestion/dcqcn.h"
#include "datapath/congestion/pacer.h"

namespace verbline::congestion {
namespace {

constexpr DcqcnParameters parameters;

void sent_unlimited(benchmark::State& state) {
    Dcqcn flow(parameters);
    Time now = 0;
    for (auto _ : state) {
        flow.sent(1024, now += 82);
        benchmark::DoNotOptimize(flow);
    }
}

/// A packet of a limited flow: bytes counted, clocks run, the next departure computed. Notified every 100 us.
void sent_limited(benchmark::State& state) {
    Dcqcn flow(parameters);
    Pacer pacer;
    Time now = 0, notify = 0;
    for (auto _ : state) {
        if (now >= notify) {
            flow.cnp(now);
            notify = now + 100 * microsecond;
        }
        flow.sent(1024, now);
        pacer.sent(1024, flow.rate_bps(), now);
        now = std::max(now, pacer.ready_at());
        benchmark::DoNotOptimize(now);
    }
}

void cnp(benchmark::State& state) {
    Dcqcn flow(parameters);
    Time now = 0;
    for (auto _ : state) {
        flow.cnp(now += 70 * microsecond);
        benchmark::DoNotOptimize(flow);
    }
}

void mark(benchmark::State& state) {
    CnpLimiter limiter;
    Time now = 0;
    for (auto _ : state) benchmark::DoNotOptimize(limiter.mark(now += 82));
}

BENCHMARK(sent_unlimited)->Name("dcqcn_sent_unlimited");
BENCHMARK(sent_limited)->Name("dcqcn_sent_limited_and_paced");
BENCHMARK(cnp)->Name("dcqcn_cnp");
BENCHMARK(mark)->Name("cnp_limiter_mark");

}  // namespace
}  // namespace verbline::congestion

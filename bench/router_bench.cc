// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// A routed packet from end to end on one shard: receive, checks, route, neighbour, headers, transmit. The devices
/// around it only count and hand their buffers back, so that what is measured is the router.

#include <array>
#include <cstdint>

#include <benchmark/benchmark.h>

#include "bench/support/routing.h"

namespace verbline {
namespace {

using Kind = router::PortSetup::Kind;

/// `setup` without the number of flows.
void route(benchmark::State& state, bench::RoutingGateway::Setup setup) {
    setup.flows = static_cast<unsigned>(state.range(0));
    bench::RoutingGateway gateway(setup);
    auto& shard = gateway.shard();
    for (int i = 0; i < 64; ++i) shard.poll(0);
    const auto before = gateway.sink().taken();
    for (auto _ : state) shard.poll(0);
    const auto sent = gateway.sink().taken() - before;
    if (sent != static_cast<std::uint64_t>(state.iterations()) * bench::Source::burst)
        state.SkipWithError("a packet was not forwarded");
    state.SetItemsProcessed(static_cast<std::int64_t>(sent));
    state.counters["per_packet"] =
        benchmark::Counter(static_cast<double>(sent), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// What the devices of the benchmark themselves cost.
void source_and_sink(benchmark::State& state) {
    bench::packet_pool();
    bench::Source source(1, false, 1);
    bench::Sink sink(1);
    std::array<rte_mbuf*, bench::Source::burst> packets;
    for (auto _ : state) {
        source.rx_burst(0, packets);
        sink.tx_burst(0, packets);
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(sink.taken()));
    state.counters["per_packet"] = benchmark::Counter(static_cast<double>(sink.taken()),
                                                      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

BENCHMARK(source_and_sink);
BENCHMARK_CAPTURE(route, to_ethernet, {})->Arg(1)->Arg(4'000);
BENCHMARK_CAPTURE(route, to_ipoib, {.kind = Kind::ipoib})->Arg(1)->Arg(4'000);
BENCHMARK_CAPTURE(route, to_ipoib_of_device, {.kind = Kind::ipoib, .crcs_by_device = true})->Arg(1)->Arg(4'000);
BENCHMARK_CAPTURE(route, by_gateways, {.by_gateway = true})->Arg(1)->Arg(4'000);
BENCHMARK_CAPTURE(route, to_few, {})->Arg(10);
BENCHMARK_CAPTURE(route, among_many, {.more_routes = 1'000'000})->Arg(100'000);

}  // namespace
}  // namespace verbline

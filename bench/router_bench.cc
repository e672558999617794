// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// A routed packet from end to end on one shard: receive, checks, route, neighbour, headers, transmit. The devices
/// around it only count and hand their buffers back, so that what is measured is the router.

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include <benchmark/benchmark.h>

#include "bench/support/routing.h"
#include "datapath/program/object.h"

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

/// A packet program of config/programs.
program::Object example(const char* name) {
    auto object = program::read_object(std::string(VERBLINE_BPF_OBJECTS) + "/" + name + ".o", "");
    if (!object) throw std::runtime_error(object.error().what);
    return std::move(*object);
}

/// With a program on the port that receives: one that only lets pass.
void route_with_program(benchmark::State& state) {
    const program::Object object{
        .section = "pass",
        .instructions = {{.code = EBPF_ALU64 | EBPF_MOV | BPF_K, .dst_reg = EBPF_REG_0, .imm = VERBLINE_PASS},
                         {.code = BPF_JMP | EBPF_EXIT}},
        .references = {}};
    route(state, {.program = &object});
}

/// With one that looks the source up among a thousand prefixes, and does not find it.
void route_by_prefixes(benchmark::State& state) {
    const auto object = example("drop_prefixes");
    route(state, {.program = &object, .prefixes = 1'000});
}

/// With one that finds the source there, and drops the packet.
void drop_by_prefixes(benchmark::State& state) {
    const auto object = example("drop_prefixes");
    bench::RoutingGateway gateway({.flows = static_cast<unsigned>(state.range(0)),
                                   .program = &object,
                                   .prefixes = 1'000,
                                   .prefix_of_sources = true});
    for (auto _ : state) gateway.shard().poll(0);
    if (gateway.sink().taken() != 0) state.SkipWithError("a packet was forwarded");
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * bench::Source::burst));
    state.counters["per_packet"] = benchmark::Counter(static_cast<double>(state.iterations() * bench::Source::burst),
                                                      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
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
BENCHMARK(route_with_program)->Arg(4'000);
BENCHMARK(route_by_prefixes)->Arg(4'000);
BENCHMARK(drop_by_prefixes)->Arg(4'000);
BENCHMARK_CAPTURE(route, among_many, {.more_routes = 1'000'000})->Arg(100'000);

}  // namespace
}  // namespace verbline

// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// Several shards of a router beside each other, each on a thread of its own: what they route together, for each second
/// that their threads had a CPU, and for each second of the clock. Caches, memory and the pool of packets are shared.

#include <atomic>
#include <cstdint>
#include <memory>

#include <benchmark/benchmark.h>

#include "bench/support/lcores.h"
#include "bench/support/routing.h"
#include "datapath/link/flow_hash.h"
#include "pmd/rss/software_rss.h"

namespace verbline {
namespace {

using Kind = router::PortSetup::Kind;

constexpr unsigned flows = 4'000;

/// Polls one shard until `stop`; returns how many packets it has routed.
std::uint64_t poll_until(const std::atomic<bool>& stop, bench::RoutingGateway& gateway, std::uint16_t number) {
    auto& shard = gateway.shard(number);
    const auto before = gateway.sink().taken(number);
    while (!stop.load(std::memory_order_relaxed)) {
        for (int i = 0; i < 16; ++i) shard.poll(0);
    }
    return gateway.sink().taken(number) - before;
}

void measure(benchmark::State& state, const bench::RoutingGateway::Setup& setup) {
    bench::RoutingGateway gateway(setup);
    bench::measure_beside(state, setup.shards, "packets", [&](std::size_t shard, const std::atomic<bool>& stop) {
        return poll_until(stop, gateway, static_cast<std::uint16_t>(shard));
    });
}

/// Each shard has its queue, as of a NIC with RSS.
void shards(benchmark::State& state, Kind kind) {
    measure(state, {.kind = kind, .flows = flows, .shards = static_cast<std::uint16_t>(state.range(0))});
}

/// The first shard receives for all, and hands over what is theirs: they wait for it, so that only the clock counts.
void shards_of_one_queue(benchmark::State& state, Kind kind) {
    const auto count = static_cast<std::uint16_t>(state.range(0));
    bench::packet_pool();
    link::FrameFlowHash::Key key;
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(i * 73 + 19);
    const link::FrameFlowHash hash(key);
    auto device = pmd::SoftwareRss::create(std::make_unique<bench::Source>(flows, false, 1),
                                           {.queues = count, .flows = &hash, .owners = {0}});
    if (!device) return state.SkipWithError(device.error().what.c_str());
    measure(state, {.kind = kind, .flows = flows, .shards = count, .source = device->get()});
}

BENCHMARK_CAPTURE(shards, to_ethernet, Kind::ethernet)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(shards, to_ipoib, Kind::ipoib)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(shards_of_one_queue, to_ethernet, Kind::ethernet)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(shards_of_one_queue, to_ipoib, Kind::ipoib)->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace verbline

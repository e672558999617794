// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// Several shards beside each other, each on a thread of its own: what they route together, for each second that their
/// threads had a CPU, and for each second of the clock. Caches, memory and the pool of packets are shared; a second
/// that another process had the CPU is no shard's.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <rte_lcore.h>
#include <sched.h>
#include <time.h>

#include <benchmark/benchmark.h>

#include "bench/support/routing.h"
#include "datapath/link/flow_hash.h"
#include "pmd/rss/software_rss.h"

namespace verbline {
namespace {

using Kind = router::PortSetup::Kind;

constexpr unsigned flows = 4'000;
constexpr auto stretch = std::chrono::milliseconds(20);

/// A thread as DPDK's lcores are, with a cache of the pool's, on one of the CPUs that the process may use.
class Lcore {
public:
    explicit Lcore(std::size_t number) {
        cpu_set_t allowed, one;
        sched_getaffinity(0, sizeof allowed, &allowed);
        auto left = number % static_cast<std::size_t>(CPU_COUNT(&allowed));
        std::size_t cpu = 0;
        while (!CPU_ISSET(cpu, &allowed) || left-- > 0) ++cpu;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        if (rte_thread_register() != 0) bench::cannot_start();
    }
    ~Lcore() { rte_thread_unregister(); }
    Lcore(const Lcore&) = delete;
    Lcore& operator=(const Lcore&) = delete;
};

double cpu_seconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Of one shard.
struct Share {
    std::uint64_t packets = 0;
    double cpu = 0;  ///< seconds
};

/// Polls one shard until `stop`.
Share poll_until(const std::atomic<bool>& stop, bench::RoutingGateway& gateway, std::uint16_t number) {
    auto& shard = gateway.shard(number);
    const auto before = gateway.sink().taken(number);
    const auto began = cpu_seconds();
    while (!stop.load(std::memory_order_relaxed)) {
        for (int i = 0; i < 16; ++i) shard.poll(0);
    }
    return {gateway.sink().taken(number) - before, cpu_seconds() - began};
}

/// All shards for a while; adds to `shares`, and returns the seconds of the clock.
double run(bench::RoutingGateway& gateway, std::vector<Share>& shares) {
    std::atomic<bool> stop = false;
    std::latch ready(static_cast<std::ptrdiff_t>(shares.size() + 1));
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        threads.emplace_back([&, i] {
            const Lcore lcore(i);
            ready.arrive_and_wait();
            const auto share = poll_until(stop, gateway, static_cast<std::uint16_t>(i));
            shares[i].packets += share.packets;
            shares[i].cpu += share.cpu;
        });
    }
    ready.arrive_and_wait();
    const auto began = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(stretch);
    stop = true;
    threads.clear();  // waits for them
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

void measure(benchmark::State& state, const bench::RoutingGateway::Setup& setup) {
    bench::RoutingGateway gateway(setup);
    std::vector<Share> shares(setup.shards);
    run(gateway, shares);
    shares.assign(setup.shards, {});
    double wall = 0;
    for (auto _ : state) wall += run(gateway, shares);
    double packets = 0, together = 0;
    for (const auto& share : shares) {
        if (share.packets == 0) state.SkipWithError("a shard forwarded nothing");
        packets += static_cast<double>(share.packets);
        together += static_cast<double>(share.packets) / share.cpu;
    }
    state.counters["packets_per_cpu_second"] = together;
    state.counters["packets_per_second"] = packets / wall;
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

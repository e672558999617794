// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// What a routed packet costs before it is sent: route and neighbour, looked up in bulk; header check and TTL.

#include <array>
#include <cstring>
#include <iostream>
#include <memory>
#include <random>
#include <vector>

#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_rcu_qsbr.h>

#include <benchmark/benchmark.h>

#include "bench/support/eal.h"
#include "datapath/forward/fib.h"
#include "datapath/forward/ipv4.h"
#include "datapath/forward/neighbours.h"
#include "datapath/link/destination.h"
#include "datapath/wire/ipv4.h"

namespace verbline {
namespace {

using forward::NextHop;
using wire::Ipv4Address;

constexpr std::size_t burst = 32;
constexpr unsigned neighbours = 1'000, routes = 100'000, packets = 1u << 16;

forward::NeighbourKey neighbour(unsigned n) {
    return {forward::InterfaceId{static_cast<std::uint16_t>(n % 4)}, Ipv4Address{0xc0a8'0000 + n}};
}

/// 100,000 random routes as the Internet's are spread (most of /24, few longer), through 1,000 gateways.
std::unique_ptr<forward::Fib> random_fib(rte_rcu_qsbr& readers) {
    auto made = forward::Fib::create({.max_routes = 131'072, .max_long = 8'192}, readers);
    if (!made) {
        std::cerr << made.error().what << '\n';
        std::exit(1);
    }
    std::mt19937 random(1);
    for (auto& fib = **made; fib.size() < routes;) {
        const auto dice = random() % 100;
        const auto length = static_cast<std::uint8_t>(dice < 60   ? 24
                                                      : dice < 95 ? 16 + random() % 8
                                                                  : 25 + random() % 8);
        const auto mask = ~std::uint32_t{0} << (32 - length);
        const auto key = neighbour(static_cast<unsigned>(random() % neighbours));
        const NextHop hop{NextHop::Kind::via, key.interface, key.address};
        if (auto added = fib.replace({Ipv4Address{static_cast<std::uint32_t>(random()) & mask}, length}, hop); !added) {
            std::cerr << added.error().what << '\n';
            std::exit(1);
        }
    }
    return std::move(*made);
}

using Neighbours = forward::NeighbourTable<link::Destination>;

struct World {
    World() {
        bench::packet_pool();  // starts DPDK
        readers = static_cast<rte_rcu_qsbr*>(rte_zmalloc(nullptr, rte_rcu_qsbr_get_memsize(1), RTE_CACHE_LINE_SIZE));
        rte_rcu_qsbr_init(readers, 1);
        fib = random_fib(*readers);
        for (unsigned n = 0; n < neighbours; ++n) table.set(neighbour(n), {});
        std::mt19937 random(2);
        for (auto& destination : destinations) destination = Ipv4Address{static_cast<std::uint32_t>(random())};
    }
    rte_rcu_qsbr* readers = nullptr;
    std::unique_ptr<forward::Fib> fib;
    forward::NeighbourCounters counters;
    Neighbours table{{}, counters};
    std::vector<Ipv4Address> destinations = std::vector<Ipv4Address>(packets);
};

World& world() {
    static World instance;
    return instance;
}

void per_packet(benchmark::State& state, std::size_t count = burst) {
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(count));
    state.counters["per_packet"] =
        benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(count),
                           benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void fib_lookup(benchmark::State& state) {
    auto& w = world();
    std::array<forward::Fib::Index, burst> hops;
    std::size_t at = 0;
    for (auto _ : state) {
        w.fib->lookup(std::span(w.destinations).subspan(at, burst), hops);
        benchmark::DoNotOptimize(hops);
        at = (at + burst) % packets;
    }
    per_packet(state);
}

void neighbour_lookup(benchmark::State& state) {
    auto& w = world();
    std::mt19937 random(3);
    std::vector<forward::NeighbourKey> keys(packets);
    for (auto& key : keys) key = neighbour(static_cast<unsigned>(random() % neighbours));
    std::array<const link::Destination*, burst> found;
    std::size_t at = 0;
    for (auto _ : state) {
        const auto looked_up = std::span(keys).subspan(at, burst);
        for (const auto& key : looked_up) w.table.prefetch(key);
        for (std::size_t i = 0; i < burst; ++i) found[i] = w.table.lookup(looked_up[i]);
        benchmark::DoNotOptimize(found);
        at = (at + burst) % packets;
    }
    per_packet(state);
}

void fib_and_neighbour_lookup(benchmark::State& state) {
    auto& w = world();
    std::array<forward::Fib::Index, burst> hops;
    std::vector<Neighbours::Number> entries(w.fib->max_next_hops(), Neighbours::no_entry);
    std::array<const link::Destination*, burst> found;
    std::size_t at = 0;
    for (auto _ : state) {
        const auto to = std::span(w.destinations).subspan(at, burst);
        w.fib->lookup(to, hops);
        for (std::size_t i = 0; i < burst; ++i) {
            const auto& hop = w.fib->next_hop(hops[i]);
            const Neighbours::HintedKey keyed{{hop.interface, hop.gateway}, &entries[hops[i]]};
            const auto* const known = w.table.hinted(keyed);  // all routes are by way of gateways
            found[i] = known != nullptr ? known : w.table.lookup_by_index(keyed);
        }
        benchmark::DoNotOptimize(found);
        at = (at + burst) % packets;
    }
    per_packet(state);
}

void check_and_decrement_ttl(benchmark::State& state) {
    auto* const packet = rte_pktmbuf_alloc(bench::packet_pool());
    auto* const bytes = reinterpret_cast<std::byte*>(rte_pktmbuf_append(packet, wire::Ipv4::size));
    const auto header =
        wire::Ipv4{.time_to_live = 255, .source = wire::ipv4(10, 1, 0, 2), .destination = wire::ipv4(10, 2, 0, 2)}
            .with_checksum();
    unsigned ttl = 0;
    for (auto _ : state) {
        if (ttl == 0) header.emit(std::span<std::byte, 20>(bytes, 20)), ttl = 255;
        if (forward::check_ipv4(*packet)) state.SkipWithError("a good packet was refused");
        forward::decrement_ttl(*packet);
        --ttl;
    }
    per_packet(state, 1);
    rte_pktmbuf_free(packet);
}

/// One route replaced by another, with no shard to wait for: two tables changed.
void fib_replace(benchmark::State& state) {
    auto& w = world();
    unsigned n = 0;
    for (auto _ : state) {
        const auto key = neighbour(n++ % neighbours);
        const forward::Prefix prefix{wire::ipv4(10, 1, 2, 0), 24};
        if (!w.fib->replace(prefix, {NextHop::Kind::via, key.interface, key.address})) state.SkipWithError("refused");
    }
}

BENCHMARK(fib_lookup);
BENCHMARK(neighbour_lookup);
BENCHMARK(fib_and_neighbour_lookup);
BENCHMARK(check_and_decrement_ttl);
BENCHMARK(fib_replace);

}  // namespace
}  // namespace verbline

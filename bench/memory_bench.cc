// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// Guarded copies beside memcpy, and keys to memory in tables of several sizes.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "datapath/memory/guarded.h"
#include "datapath/memory/key_table.h"

namespace verbline {
namespace {

using memory::Access;

constexpr memory::PdId pd{1};
constexpr wire::Qpn qpn{1};

/// Both sides where no chance of the heap's decides: on cache lines, and not at the same place of their pages.
template <class Copy>
void copy(benchmark::State& state, Copy copies) {
    constexpr std::size_t page = 4096;
    struct alignas(page) Page {
        std::array<std::byte, page> bytes{};
    };
    const auto size = static_cast<std::size_t>(state.range(0)), offset = static_cast<std::size_t>(state.range(1));
    const auto pages = (size + page - 1) / page + 1;
    std::vector<Page> memory(2 * pages);
    auto* const to = reinterpret_cast<std::byte*>(memory.data());
    const auto* const from = to + pages * page + page / 2 + offset;
    for (auto _ : state) {
        copies(to, from, size);
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

void guarded_copy(benchmark::State& state) {
    copy(state, [](auto* to, const auto* from, std::size_t size) {
        benchmark::DoNotOptimize(memory::guarded_copy(to, from, size));
    });
}

void plain_copy(benchmark::State& state) {
    copy(state,
         [](auto* to, const auto* from, std::size_t size) { benchmark::DoNotOptimize(std::memcpy(to, from, size)); });
}

/// Hits, on one key of many or on all of them in random order.
void resolve(benchmark::State& state) {
    const auto regions = static_cast<std::size_t>(state.range(0));
    const bool all = state.range(1) != 0;
    std::vector<std::byte> memory(64);
    memory::KeyTable table;
    std::vector<wire::RKey> keys;
    for (std::size_t i = 0; i < regions; ++i)
        keys.push_back(
            *table.add_region({pd, memory.data(), memory.size(), 0x1000, Access::local_write | Access::remote_write}));
    std::ranges::shuffle(keys, std::mt19937(1));
    std::size_t at = 0;
    for (auto _ : state) {
        const auto found = table.resolve(keys[at], pd, qpn, 0x1000, 64, Access::remote_write);
        if (!found) return state.SkipWithError("a key was not found");
        benchmark::DoNotOptimize(*found);
        if (all && ++at == regions) at = 0;
    }
}

void bind_and_invalidate(benchmark::State& state) {
    std::vector<std::byte> memory(64);
    memory::KeyTable table;
    const auto region = *table.add_region({pd, memory.data(), 64, 0, Access::local_write | Access::mw_bind});
    auto key = *table.add_window(pd, memory::WindowType::type2b);
    for (auto _ : state) {
        const auto bound = table.bind(key, {memory::next_key(key), region, 0, 64, Access::remote_write, pd, qpn});
        if (!bound || !table.invalidate(*bound, pd, qpn)) return state.SkipWithError("a bind failed");
        key = *bound;
    }
}

BENCHMARK(guarded_copy)->ArgNames({"size", "offset"})->ArgsProduct({{64, 256, 1024, 4096, 65'536}, {0, 5}});
BENCHMARK(plain_copy)
    ->Name("memcpy")
    ->ArgNames({"size", "offset"})
    ->ArgsProduct({{64, 256, 1024, 4096, 65'536}, {0, 5}});
BENCHMARK(resolve)->ArgNames({"regions", "all"})->ArgsProduct({{1, 1000, 100'000}, {0, 1}});
BENCHMARK(bind_and_invalidate);

}  // namespace
}  // namespace verbline

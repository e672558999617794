// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Threads beside each other, each on a CPU of its own as far as there are any: what they do together, for each second
/// that they had a CPU, and for each second of the clock. A second that another process had the CPU is no thread's.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include <rte_lcore.h>
#include <sched.h>
#include <time.h>

#include <benchmark/benchmark.h>

#include "bench/support/eal.h"

namespace verbline::bench {

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
        if (rte_thread_register() != 0) cannot_start();
    }
    ~Lcore() { rte_thread_unregister(); }
    Lcore(const Lcore&) = delete;
    Lcore& operator=(const Lcore&) = delete;
};

inline double cpu_seconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Of one thread.
struct Share {
    std::uint64_t done = 0;
    double cpu = 0;  ///< seconds
};

/// All threads for a while; adds to `shares`, one for each, and returns the seconds of the clock. `work(thread, stop)`
/// returns how much it has done, soon after `stop`.
template <class Work>
double run_beside(std::vector<Share>& shares, Work work) {
    constexpr auto stretch = std::chrono::milliseconds(20);
    std::atomic<bool> stop = false;
    std::latch ready(static_cast<std::ptrdiff_t>(shares.size() + 1));
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        threads.emplace_back([&, i] {
            const Lcore lcore(i);
            ready.arrive_and_wait();
            const auto began = cpu_seconds();
            const std::uint64_t done = work(i, stop);
            shares[i].cpu += cpu_seconds() - began;
            shares[i].done += done;
        });
    }
    ready.arrive_and_wait();
    const auto began = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(stretch);
    stop = true;
    threads.clear();  // waits for them
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

/// Measures `work` as above by so many threads: NOUN_per_cpu_second, summed over the threads, and NOUN_per_second.
template <class Work>
void measure_beside(benchmark::State& state, std::size_t threads, const std::string& noun, Work work) {
    std::vector<Share> shares(threads);
    run_beside(shares, work);
    shares.assign(threads, {});
    double wall = 0;
    for (auto _ : state) wall += run_beside(shares, work);
    double all = 0, together = 0;
    for (const auto& share : shares) {
        if (share.done == 0) state.SkipWithError("a shard did nothing");
        all += static_cast<double>(share.done);
        together += static_cast<double>(share.done) / share.cpu;
    }
    state.counters[noun + "_per_cpu_second"] = together;
    state.counters[noun + "_per_second"] = all / wall;
}

}  // namespace verbline::bench

// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// The timing wheel as connections use it: a retransmission timer moved with every acknowledgement, and polls that find
/// nothing due.

#include <memory>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "datapath/timer/wheel.h"

namespace verbline::timer {
namespace {

constexpr Time timeout = 67 * millisecond;  ///< local ACK timeout 14

struct Armed {
    explicit Armed(std::size_t count) : timers(std::make_unique<Timer[]>(count)), order(count) {
        std::mt19937 random(1);
        for (auto& i : order) i = random() % count;
        for (std::size_t i = 0; i < count; ++i) wheel.arm(timers[i], timeout + static_cast<Time>(i) * 100);
    }
    Wheel wheel{0};
    std::unique_ptr<Timer[]> timers;
    std::vector<std::size_t> order;  ///< in which they are used: the caches know none of them
};

void move(benchmark::State& state) {
    const auto count = static_cast<std::size_t>(state.range(0));
    Armed armed(count);
    Time now = 0;
    std::size_t i = 0;
    for (auto _ : state) {
        now += 50;
        armed.wheel.arm(armed.timers[armed.order[i]], now + timeout);
        if (++i == count) i = 0;
    }
}

void arm_and_cancel(benchmark::State& state) {
    Wheel wheel(0);
    Timer timer;
    Time now = 0;
    for (auto _ : state) {
        wheel.arm(timer, now += 50);
        benchmark::ClobberMemory();
        timer.cancel();
    }
}

void advance_idle(benchmark::State& state) {
    Armed armed(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) {
        armed.wheel.advance(0, [](Timer&) {});
        benchmark::ClobberMemory();
    }
}

/// A poll loop of 200 ns with timers moved as they fire: the total cost of a poll.
void advance_busy(benchmark::State& state) {
    const auto count = static_cast<std::size_t>(state.range(0));
    Armed armed(count);
    Time now = 0;
    std::size_t fired = 0;
    for (auto _ : state) {
        now += 200;
        armed.wheel.advance(now, [&](Timer& timer) {
            ++fired;
            armed.wheel.arm(timer, now + timeout);
        });
    }
    state.counters["fired_per_poll"] = static_cast<double>(fired) / static_cast<double>(state.iterations());
}

BENCHMARK(move)->Name("timer_move")->Arg(1)->Arg(10'000);
BENCHMARK(arm_and_cancel)->Name("timer_arm_and_cancel");
BENCHMARK(advance_idle)->Name("timer_advance_idle")->Arg(0)->Arg(10'000);
BENCHMARK(advance_busy)->Name("timer_advance_busy")->Arg(10'000);

}  // namespace
}  // namespace verbline::timer

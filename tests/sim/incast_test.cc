// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// Many senders, one receiver's port: what DCQCN makes of it, and what happens without.

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/sim/stream.h"
#include "tests/support/large_pool.h"

namespace verbline::sim {
namespace {

constexpr std::size_t senders = 16;
constexpr std::uint64_t bits_per_second = 100'000'000'000;

struct Outcome {
    double used = 0;                  ///< share of the link, of payload bytes in complete messages
    double jain = 0;                  ///< fairness: 1 if all get the same, 1/n if one gets everything
    std::uint64_t dropped_first = 0;  ///< before it is measured
    std::uint64_t dropped = 0, marked = 0, longest_queue = 0;
};

struct Times {
    Time between_starts, converge, measured;
};

Outcome incast(bool ecn, const Times& times) {
    World world(Seed{11}, *test::large_pool());
    PortSetup port{.rate_bps = bits_per_second, .delay = 1 * microsecond};
    auto& receiver = world.add_host({.port = port, .ecn = ecn});
    receiver.port().setup().marking = {.kmin = 100'000, .kmax = 400'000, .pmax = 0.1};
    std::vector<std::unique_ptr<Stream>> streams;
    Outcome outcome;
    for (std::size_t n = 0; n < senders; ++n) {
        auto& sender = world.add_host({.port = port, .ecn = ecn});
        streams.push_back(
            std::make_unique<Stream>(world, sender, receiver, StreamSetup{.message = 65'536, .under_way = 64}));
        run(world, streams, world.network().now() + times.between_starts);
    }
    const auto converged = world.network().now() + times.converge;
    run(world, streams, converged);
    std::vector<std::uint64_t> before;
    for (const auto& stream : streams) before.push_back(stream->bytes());
    const auto& port_counters = receiver.port().port_counters();
    outcome.dropped_first = port_counters.queue_dropped_full.value();
    const auto marked_first = port_counters.queue_marked.value();
    const auto end = converged + times.measured;
    while (world.network().now() < end) {
        run(world, streams, world.network().now() + 10 * microsecond);
        outcome.longest_queue = std::max(outcome.longest_queue, receiver.port().queue());
    }
    double sum = 0, squares = 0;
    for (std::size_t n = 0; n < senders; ++n) {
        const auto got = static_cast<double>(streams[n]->bytes() - before[n]);
        sum += got, squares += got * got;
    }
    outcome.jain = sum * sum / (senders * squares);
    outcome.used = sum * 8 * second / times.measured / bits_per_second;
    outcome.dropped = port_counters.queue_dropped_full.value() - outcome.dropped_first;
    outcome.marked = port_counters.queue_marked.value() - marked_first;
    return outcome;
}

void print(const char* name, const Outcome& outcome) {
    fmt::print("{:>18} {:>7.3f} {:>7.3f} {:>14} {:>9} {:>9} {:>13}\n", name, outcome.used, outcome.jain,
               outcome.dropped_first, outcome.dropped, outcome.marked, outcome.longest_queue);
}

TEST(Incast, OfSixteenIsFairAndLossless) {
    const Times times{.between_starts = 500 * microsecond, .converge = 60 * millisecond, .measured = 40 * millisecond};
    fmt::print("{} senders into one port of {} Gbit/s, 4 MiB of queue; after {} ms\n", senders,
               bits_per_second / 1'000'000'000, times.converge / millisecond);
    fmt::print("{:>18} {:>7} {:>7} {:>14} {:>9} {:>9} {:>13}\n", "", "used", "Jain", "dropped before", "dropped",
               "marked", "longest queue");
    const auto with = incast(true, times);
    print("ECN", with);
    // All at line rate at the same moment: notifications come too late, a bounded first flight must do.
    const auto together = incast(true, {0, times.converge, times.measured});
    print("ECN, all at once", together);
    const auto without = incast(false, {times.between_starts, 0, 10 * millisecond});
    print("no ECN", without);
    RecordProperty("used", fmt::format("{:.4f}", with.used));
    RecordProperty("jain", fmt::format("{:.4f}", with.jain));
    RecordProperty("dropped",
                   std::to_string(with.dropped_first + with.dropped + together.dropped_first + together.dropped));
    for (const auto& outcome : {with, together}) {
        EXPECT_EQ(outcome.dropped_first + outcome.dropped, 0u);
        EXPECT_GE(outcome.jain, 0.95);
        EXPECT_GE(outcome.used, 0.9);
    }
    EXPECT_GT(without.dropped, 0u);
}

}  // namespace
}  // namespace verbline::sim

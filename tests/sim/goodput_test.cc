// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// What loss costs a stream of large WRITEs: ours, ours to a peer that knows no selective acknowledgement, and plain
/// go-back-N, all on the same schedule of losses.

#include <array>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/sim/stream.h"
#include "tests/support/large_pool.h"

namespace verbline::sim {
namespace {

constexpr std::uint64_t rate = 100'000'000'000;
constexpr Time round_trip = 100 * microsecond, warm_up = 2 * millisecond, measured = 40 * millisecond;

enum class How : std::uint8_t { selective, one_sided, go_back_n };

/// Bits per second of complete messages.
double goodput(double loss, How how) {
    World world(Seed{7}, *test::large_pool());
    // A quarter of the round trip on each of two cables, there and back.
    PortSetup port{.rate_bps = rate, .delay = round_trip / 4};
    port.in.random.loss = loss;
    const bool plain = how == How::go_back_n;
    auto& a = world.add_host({.port = port});
    auto& b = world.add_host({.port = port, .max_kept_packets = plain ? 0u : 4096u});
    StreamSetup setup{.selective_ack = how == How::selective};
    setup.sender.adaptive = !plain;
    if (plain) setup.sender.timeout = 8;  // 1 ms: it has nothing else when a NAK is lost
    const std::array streams{std::make_unique<Stream>(world, a, b, setup)};
    run(world, streams, warm_up);
    const auto before = streams[0]->bytes();
    run(world, streams, warm_up + measured);
    return static_cast<double>(streams[0]->bytes() - before) * 8 * second / measured;
}

TEST(Goodput, SurvivesLoss) {
    constexpr std::array losses{0.0, 0.0001, 0.001, 0.01, 0.05};
    std::map<double, std::array<double, 3>> share;
    const auto lossless = goodput(0, How::selective);
    fmt::print("RC WRITE 1 MiB, path MTU 4096, {} us round trip, {} Gbit/s: lossless {:.1f} Gbit/s\n",
               round_trip / microsecond, rate / 1'000'000'000, lossless / 1e9);
    fmt::print("{:>8} {:>22} {:>22} {:>22}\n", "loss", "selective ack", "peer without", "go-back-N");
    for (const auto loss : losses) {
        fmt::print("{:>7g}%", loss * 100);
        for (const auto how : {How::selective, How::one_sided, How::go_back_n}) {
            auto& one = share[loss][static_cast<std::size_t>(how)] = goodput(loss, how) / lossless;
            fmt::print(" {:>22.3f}", one);
        }
        fmt::print("\n");
        const auto name = fmt::format("loss_{:g}", loss * 100);
        RecordProperty(name + "_selective", fmt::format("{:.4f}", share[loss][0]));
        RecordProperty(name + "_one_sided", fmt::format("{:.4f}", share[loss][1]));
        RecordProperty(name + "_go_back_n", fmt::format("{:.4f}", share[loss][2]));
    }
    EXPECT_GE(lossless, 0.95 * rate);
    EXPECT_GE(share[0.001][0], 0.9);
    EXPECT_GE(share[0.01][0], 0.6);
    for (const auto loss : losses) {  // what we add never costs anything
        EXPECT_GE(share[loss][0], share[loss][1] * 0.98) << loss;
        EXPECT_GE(share[loss][1], share[loss][2] * 0.98) << loss;
    }
}

}  // namespace
}  // namespace verbline::sim

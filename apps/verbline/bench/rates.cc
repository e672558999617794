// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/rates.h"

#include <variant>

#include <fmt/format.h>

namespace verbline::bench {
namespace {

/// A search without a rate begins at the line's.
std::optional<AskedRate> asked_rate(const PacketPlan& plan) {
    if (!plan.rate && plan.search != Search::none) return LineShare{1};
    return plan.rate;
}

}  // namespace

std::expected<std::vector<std::optional<traffic::Rate>>, cli::Failure> resolve_rates(std::span<const PlannedRun> runs,
                                                                                     BenchPort& port) {
    const auto speed = port.facts().bits_per_second;
    std::vector<std::optional<traffic::Rate>> rates;
    for (const auto& run : runs) {
        const auto asked = asked_rate(run.plan);
        const double directions = run.plan.directions();
        if (!asked) {
            rates.emplace_back();
        } else if (const auto* rate = std::get_if<traffic::Rate>(&*asked)) {
            rates.emplace_back(*rate * directions);
        } else if (speed) {
            const auto part = std::get<LineShare>(*asked).part;
            rates.emplace_back(
                traffic::Rate{traffic::RateUnit::line_bits, static_cast<double>(*speed) * part * directions});
        } else {
            return cli::usage_failure(fmt::format(
                "bench packet: {} does not say how fast its line is: give --rate in pps or bps", port.device().name()));
        }
    }
    return rates;
}

}  // namespace verbline::bench

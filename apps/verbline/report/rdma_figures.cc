// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "apps/verbline/report/fields.h"
#include "apps/verbline/report/figures.h"
#include "apps/verbline/report/lines.h"

namespace verbline::report {
namespace {

/// A message rate and a size give what perftest prints as the average bandwidth, whose unit is not in its JSON.
std::optional<double> gigabits(const RdmaRound& round) {
    constexpr double ten_thousandths = 1e4;
    if (!round.mega_messages) return std::nullopt;
    return std::round(*round.mega_messages * round.size * 8 / 1000 * ten_thousandths) / ten_thousandths;
}

Parameters parameters(const RdmaRun& run, bool with_pairs = true) {
    Parameters all{{"test", run.test}, {"transport", run.transport}, {"device", run.device}};
    if (with_pairs) all.emplace_back("pairs", fmt::format("{} QP{}", run.pairs, run.pairs == 1 ? "" : "s"));
    all.emplace_back("depth", fmt::format("depth {}", run.depth));
    all.emplace_back("mtu", fmt::format("MTU {}", run.mtu));
    return all;
}

struct Quantity {
    std::string name;  ///< of a line; empty: there is one
    std::optional<double> (*value)(const RdmaRound&);
};

std::vector<Sample> samples_of(const RdmaRun& run, const std::vector<Quantity>& quantities) {
    std::vector<Sample> samples;
    for (const auto& round : run.rounds) {
        for (const auto& quantity : quantities) {
            const auto value = quantity.value(round);
            if (!value) continue;
            auto with = parameters(run);
            with.emplace_back("quantity", quantity.name);
            samples.push_back({std::move(with), round.size, *value});
        }
    }
    return samples;
}

/// All rounds that have one of these, against the message size.
Figure by_size(const std::vector<RdmaRun>& runs, std::string id, std::string title, std::string unit,
               const std::vector<Quantity>& quantities) {
    std::vector<Sample> samples;
    std::vector<RdmaRun> shown;
    for (const auto& run : runs) {
        const auto more = samples_of(run, quantities);
        if (!more.empty()) shown.push_back(run);
        samples.insert(samples.end(), more.begin(), more.end());
    }
    Panel panel{.x = {.title = "message size (bytes)", .scale = Scale::log2}, .y = {.title = std::move(unit)}};
    panel.series = merge(samples, runs.empty() ? "" : fmt::format("{}, {}", runs.front().test, runs.front().transport));
    panel.y.scale = value_scale(panel.series);
    return {.id = std::move(id),
            .title = std::move(title),
            .note = in_common(samples),
            .panels = {std::move(panel)},
            .table = rdma_results(shown)};
}

Figure by_pairs(const std::vector<RdmaRun>& runs) {
    std::vector<Sample> samples;
    for (const auto& run : runs) {
        for (const auto& round : run.rounds) {
            if (!round.mega_messages) continue;
            auto with = parameters(run, false);
            with.emplace_back("size", fmt::format("{} B", round.size));
            samples.push_back({std::move(with), run.pairs, *round.mega_messages});
        }
    }
    Panel panel{.x = {.title = "queue pairs", .scale = Scale::log2}, .y = {.title = "rate (M messages/s)"}};
    panel.series = merge(samples, "messages");
    panel.y.scale = value_scale(panel.series);
    return {.id = "rate-by-queue-pairs",
            .title = "Message rate against number of queue pairs",
            .note = in_common(samples),
            .panels = {std::move(panel)},
            .table = rdma_results(runs)};
}

}  // namespace

std::vector<Figure> rdma_figures(const std::vector<RdmaRun>& runs) {
    std::vector<Figure> figures;
    figures.push_back(by_size(runs, "throughput-by-message-size", "RDMA throughput against message size",
                              "throughput (Gbit/s)", {{"", gigabits}}));
    figures.push_back(by_size(runs, "rate-by-message-size", "RDMA message rate against message size",
                              "rate (M messages/s)",
                              {{"", [](const RdmaRound& round) { return round.mega_messages; }}}));
    figures.push_back(
        by_size(runs, "latency-by-message-size", "RDMA latency against message size", "latency (us)",
                {{"typical", [](const RdmaRound& round) { return round.typical; }},
                 {"99 %", [](const RdmaRound& round) { return round.percentile_99; }},
                 {"99.9 %", [](const RdmaRound& round) { return round.percentile_99_9; }},
                 {"average", [](const RdmaRound& round) { return round.typical ? std::nullopt : round.average; }}}));
    figures.push_back(by_pairs(runs));
    std::erase_if(figures, [](const Figure& figure) { return figure.panels.front().series.empty(); });
    return figures;
}

Table rdma_results(const std::vector<RdmaRun>& runs) {
    Table table{
        .title = "RDMA operations",
        .columns = {"file", "test", "transport", "device", "QPs", "size (bytes)", "iterations", "rate (M messages/s)",
                    "throughput (Gbit/s)", "typical latency (us)", "average (us)", "99 % (us)", "99.9 % (us)"},
        .rows = {}};
    for (const auto& run : runs) {
        for (const auto& round : run.rounds)
            table.rows.push_back({run.file, run.test, run.transport, run.device, cell(run.pairs), cell(round.size),
                                  cell(round.iterations), cell(round.mega_messages), cell(gigabits(round)),
                                  cell(round.typical), cell(round.average), cell(round.percentile_99),
                                  cell(round.percentile_99_9)});
    }
    return without_empty_columns(std::move(table));
}

}  // namespace verbline::report

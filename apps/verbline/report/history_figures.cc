// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "apps/verbline/report/fields.h"
#include "apps/verbline/report/figures.h"

namespace verbline::report {
namespace {

std::string machine_name(const PastRun& run) {
    return fmt::format("{}, {} CPU{}", run.cpu.empty() ? "unknown CPU" : run.cpu, run.cpus, run.cpus == 1 ? "" : "s");
}

std::string run_name(const PastRun& run, std::size_t number) {
    return run.commit.empty() ? fmt::format("{}", number) : run.commit;
}

/// By the figure by which bench/history.py judges a row: the ratio, or ours if there is no peer.
std::optional<double> judged(const ComparedRow& row) {
    return row.ratio ? row.ratio : row.ours;
}

Panel new_panel(const ComparedRow& row, const std::vector<PastRun>& runs) {
    Panel panel{.title = row.name,
                .x = {.title = "run", .scale = Scale::category},
                .y = {.title = row.ratio ? "times as good as the peer" : row.unit}};
    for (std::size_t i = 0; i < runs.size(); ++i) panel.x.categories.push_back(run_name(runs[i], i + 1));
    if (row.goal && row.ratio) panel.marks.push_back({.name = "goal", .value = *row.goal});
    return panel;
}

void add_point(Panel& panel, const ComparedRow& row, const PastRun& run, std::size_t place) {
    const auto name = machine_name(run);
    auto series = std::ranges::find(panel.series, name, &Series::name);
    if (series == panel.series.end()) series = panel.series.insert(series, {.name = name, .points = {}});
    constexpr double halves_in_percent = 200;
    const double value = *judged(row), half = value * row.spread_percent.value_or(0) / halves_in_percent;
    Point point{.x = static_cast<double>(place), .y = value};
    if (half > 0) point.low = std::max(0., value - half), point.high = value + half;
    series->points.push_back(std::move(point));
}

std::vector<Json> cells(const ComparedRow& row, const PastRun& run) {
    return {row.name,
            run.when,
            run.commit,
            machine_name(run),
            cell(row.ours),
            row.unit,
            cell(row.peer_value),
            cell(row.ratio),
            cell(row.goal),
            cell(row.spread_percent)};
}

Figure figure(const History& history, std::size_t number) {
    Figure made{.id = fmt::format("history-{}", number),
                .title = "Over runs: " + history.file,
                .note =
                    "Each row's ratio, or its own figure if it has no peer, in the order of the file. The thin line is "
                    "the spread "
                    "of a run's rounds, half to either side. Runs on different machines are different lines.",
                .panels = {},
                .table = {.title = "Runs of " + history.file,
                          .columns = {"row", "when", "commit", "machine", "ours", "unit", "peer's", "ratio", "goal",
                                      "spread (%)"},
                          .rows = {}}};
    for (std::size_t i = 0; i < history.runs.size(); ++i) {
        for (const auto& row : history.runs[i].rows) {
            if (!judged(row)) continue;
            auto panel = std::ranges::find(made.panels, row.name, &Panel::title);
            if (panel == made.panels.end()) panel = made.panels.insert(panel, new_panel(row, history.runs));
            add_point(*panel, row, history.runs[i], i);
            const auto behind = std::ranges::upper_bound(made.table.rows, row.name, {}, [](const auto& other) {
                return other.front().template get<std::string>();
            });
            made.table.rows.insert(behind, cells(row, history.runs[i]));
        }
    }
    for (auto& panel : made.panels) panel.y.scale = value_scale(panel.series);
    return made;
}

}  // namespace

std::vector<Figure> history_figures(const std::vector<History>& histories) {
    std::vector<Figure> figures;
    for (const auto& history : histories) {
        auto made = figure(history, figures.size() + 1);
        if (!made.panels.empty()) figures.push_back(std::move(made));
    }
    return figures;
}

}  // namespace verbline::report

// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>

#include "apps/verbline/report/fields.h"
#include "apps/verbline/report/figures.h"

namespace verbline::report {
namespace {

constexpr std::size_t rows_of_a_panel = 16;  ///< what fits a printed page
/// Up to here bars from 0 can be compared; ratios above are read on a logarithmic axis.
constexpr double most_linear = 5;

/// Three digits, as bench/compare prints them.
std::string figure_text(double value, const std::string& unit) {
    return fmt::format("{:.{}f}{}{}", value, value >= 100 ? 0 : value >= 10 ? 1 : 2, unit.empty() ? "" : " ", unit);
}

/// Half the spread to either side: bench/compare keeps the distance of the best round from the worst, not where they
/// lie.
Point bar(double place, double ratio, std::optional<double> spread_percent, std::string label) {
    Point point{.x = place, .y = ratio, .label = std::move(label)};
    constexpr double halves_in_percent = 200;
    if (spread_percent && *spread_percent > 0) {
        point.low = std::max(0., ratio * (1 - *spread_percent / halves_in_percent));
        point.high = ratio * (1 + *spread_percent / halves_in_percent);
    }
    return point;
}

Panel panel(const std::vector<const ComparedRow*>& rows, Scale scale) {
    Panel made{.title = "",
               .shape = Shape::comparison,
               .x = {.title = "times as good as the peer or limit", .scale = scale},
               .y = {.title = "", .scale = Scale::category},
               .series = {{.name = "Verbline", .points = {}},
                          {.name = "peer or limit", .points = {}},
                          {.name = "goal", .points = {}}}};
    for (const auto* const row : rows) {
        const auto place = static_cast<double>(made.y.categories.size());
        made.y.categories.push_back(row->name);
        made.series[0].points.push_back(
            bar(place, *row->ratio, row->spread_percent, figure_text(row->ours.value_or(0), row->unit)));
        const auto other = figure_text(row->peer_value.value_or(0), row->unit);
        made.series[1].points.push_back(
            {.x = place, .y = 1, .label = row->peer.empty() ? other : fmt::format("{}: {}", row->peer, other)});
        if (row->goal) made.series[2].points.push_back({.x = place, .y = *row->goal});
    }
    return made;
}

Table table(const Comparison& comparison) {
    Table made{.title = "Rows of " + comparison.file,
               .columns = {"row", "ours", "unit", "peer's", "peer or limit", "ratio", "goal", "spread (%)", "met",
                           "the machine's limit", "what that is", "share of the limit", "note"},
               .rows = {}};
    for (const auto& row : comparison.rows)
        made.rows.push_back({row.name, cell(row.ours), row.unit, cell(row.peer_value), row.peer, cell(row.ratio),
                             cell(row.goal), cell(row.spread_percent),
                             row.met ? Json(*row.met ? "yes" : "no") : Json(nullptr), cell(row.limit_value),
                             row.limit.empty() ? Json(nullptr) : Json(row.limit), cell(row.of_limit), row.note});
    return without_empty_columns(std::move(made));
}

Figure figure(const Comparison& comparison, std::size_t number) {
    std::vector<const ComparedRow*> rows;
    double most = 0;
    for (const auto& row : comparison.rows) {
        if (!row.ratio || *row.ratio <= 0) continue;
        rows.push_back(&row);
        most = std::max({most, *row.ratio, row.goal.value_or(0)});
    }
    Figure made{
        .id = fmt::format("comparison-{}", number),
        .title = "Compared with peers: " + comparison.file,
        .note =
            "A bar that is longer than the peer's is better, whatever the unit; the mark is the goal. The thin line "
            "is the spread of the rounds, half to either side. Rows without a peer are in the table alone.",
        .panels = {},
        .table = table(comparison)};
    for (std::size_t i = 0; i < rows.size(); i += rows_of_a_panel) {
        const std::vector part(rows.begin() + static_cast<std::ptrdiff_t>(i),
                               rows.begin() + static_cast<std::ptrdiff_t>(std::min(rows.size(), i + rows_of_a_panel)));
        made.panels.push_back(panel(part, most > most_linear ? Scale::log10 : Scale::linear));
    }
    return made;
}

}  // namespace

std::vector<Figure> comparison_figures(const std::vector<Comparison>& comparisons) {
    std::vector<Figure> figures;
    for (const auto& comparison : comparisons) figures.push_back(figure(comparison, figures.size() + 1));
    return figures;
}

}  // namespace verbline::report

// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/verbline/report/fields.h"
#include "apps/verbline/report/figures.h"
#include "apps/verbline/report/lines.h"

namespace verbline::report {
namespace {

constexpr std::array directions{"send", "receive"};

Parameters row_parameters(const IpoibRun& run, const IpoibRow& row) {
    return {{"carrier", row.carrier},
            {"offload", row.offload == "off" ? "no offload" : row.offload + " offload"},
            {"devices", fmt::format("{}", fmt::join(run.devices, ", "))},
            {"mtu", fmt::format("MTU {}", run.mtu)},
            {"burst", fmt::format("bursts of {}", run.burst)}};
}

using Value = std::optional<double> (*)(const IpoibRow&);

std::vector<Sample> samples_in(const std::vector<IpoibRun>& runs, std::string_view direction, Value value) {
    std::vector<Sample> samples;
    for (const auto& run : runs)
        for (const auto& row : run.rows)
            if (const auto found = row.direction == direction ? value(row) : std::nullopt)
                samples.push_back({row_parameters(run, row), row.size, *found});
    return samples;
}

/// A panel for each direction, with a line for each carrier and setting.
Figure by_packet_size(const std::vector<IpoibRun>& runs, std::string id, std::string title, const std::string& unit,
                      Value value) {
    Figure made{.id = std::move(id), .title = std::move(title), .note = {}, .panels = {}, .table = ipoib_results(runs)};
    for (const auto* const direction : directions) {
        const auto samples = samples_in(runs, direction, value);
        auto series = merge(samples, "packets");
        if (series.empty()) continue;
        made.note = in_common(samples);
        const auto scale = value_scale(series);
        made.panels.push_back({.title = direction,
                               .x = {.title = "IP packet size (bytes)", .scale = Scale::log2},
                               .y = {.title = unit, .scale = scale},
                               .series = std::move(series)});
    }
    return made;
}

}  // namespace

std::vector<Figure> ipoib_figures(const std::vector<IpoibRun>& runs) {
    std::vector<Figure> figures;
    figures.push_back(by_packet_size(runs, "ipoib-ratio", "IPoIB beside Ethernet, packets a second",
                                     "times Ethernet's rate", [](const IpoibRow& row) { return row.ratio; }));
    figures.push_back(by_packet_size(runs, "ipoib-time", "Time for a packet over Ethernet and over IPoIB", "time (ns)",
                                     [](const IpoibRow& row) { return std::optional(row.nanoseconds); }));
    std::erase_if(figures, [](const Figure& figure) { return figure.panels.empty(); });
    return figures;
}

Table ipoib_results(const std::vector<IpoibRun>& runs) {
    Table table{
        .title = "Packets over Ethernet and over IPoIB",
        .columns = {"file", "devices", "MTU", "size (bytes)", "protocol", "direction", "offload", "carrier",
                    "time (ns)", "spread (%)", "rate (Mpps)", "throughput (Gbit/s)", "of Ethernet", "its spread (%)"},
        .rows = {}};
    for (const auto& run : runs)
        for (const auto& row : run.rows)
            table.rows.push_back({run.file, fmt::format("{}", fmt::join(run.devices, ", ")), cell(run.mtu),
                                  cell(row.size), row.protocol, row.direction, row.offload, row.carrier,
                                  cell(row.nanoseconds), cell(row.spread_percent), cell(row.mpps), cell(row.gigabits),
                                  cell(row.ratio), cell(row.ratio_spread_percent)});
    return without_empty_columns(std::move(table));
}

}  // namespace verbline::report

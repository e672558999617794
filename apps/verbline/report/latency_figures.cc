// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "apps/verbline/report/fields.h"
#include "apps/verbline/report/figures.h"
#include "apps/verbline/report/histogram.h"
#include "apps/verbline/report/packet_parameters.h"

namespace verbline::report {
namespace {

struct Percentile {
    double percent;
    std::string_view name;
    double Latency::* value;
};
constexpr std::array percentiles{Percentile{50, "p50", &Latency::p50}, Percentile{90, "p90", &Latency::p90},
                                 Percentile{99, "p99", &Latency::p99}, Percentile{99.9, "p99.9", &Latency::p99_9},
                                 Percentile{99.99, "p99.99", &Latency::p99_99}};

/// One row for each file, in the order of the JSON.
Table latency_table(const std::vector<PacketRun>& runs) {
    Table table{.title = "Latency in microseconds",
                .columns = {"file", "size", "frames", "min", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "max"},
                .rows = {}};
    for (const auto& run : runs) {
        if (!run.latency) continue;
        const auto& times = *run.latency;
        table.rows.push_back({run.file, size_text(run), cell(times.frames), cell(times.least), cell(times.mean),
                              cell(times.p50), cell(times.p90), cell(times.p99), cell(times.p99_9), cell(times.p99_99),
                              cell(times.most)});
    }
    return table;
}

void add_percentiles(std::vector<Figure>& figures, const std::vector<PacketRun>& runs) {
    std::vector<Sample> samples;
    for (const auto& run : runs) {
        if (!run.latency) continue;
        for (const auto& percentile : percentiles)
            samples.push_back({parameters(run, Varied::nothing), percentile.percent, (*run.latency).*percentile.value});
    }
    auto series = merge(samples, "latency");
    if (series.empty()) return;
    const auto scale = value_scale(series);
    figures.push_back({.id = "latency-percentiles",
                       .title = "Latency by percentile",
                       .note = "From the making of a frame's burst to its receipt. Each nine takes the same room. " +
                               in_common(samples),
                       .panels = {{.x = {.title = "percentile of frames (%)", .scale = Scale::percentile},
                                   .y = {.title = "latency (us)", .scale = scale},
                                   .series = std::move(series)}},
                       .table = latency_table(runs)});
}

void add_by_size(std::vector<Figure>& figures, const std::vector<PacketRun>& runs) {
    std::vector<Sample> samples;
    for (const auto& run : runs) {
        if (!run.latency) continue;
        for (const auto& percentile : {percentiles[0], percentiles[2], percentiles[3]}) {
            auto with = parameters(run, Varied::size);
            with.emplace_back("percentile", percentile.name);
            samples.push_back({std::move(with), run.average_size, (*run.latency).*percentile.value});
        }
    }
    auto series = merge(samples, "latency");
    if (series.empty()) return;
    const auto scale = value_scale(series);
    figures.push_back({.id = "latency-by-frame-size",
                       .title = "Latency against frame size",
                       .note = "Median, 99 % and 99.9 % of the frames. " + in_common(samples),
                       .panels = {{.x = {.title = "frame size with check sequence (bytes)", .scale = Scale::log2},
                                   .y = {.title = "latency (us)", .scale = scale},
                                   .series = std::move(series)}},
                       .table = latency_table(runs)});
}

Panel histogram_panel(const PacketRun& run) {
    Panel panel{.title = fmt::format("{}: {}, {}", run.file, run.role, size_text(run)),
                .shape = Shape::histogram,
                .x = {.title = "latency (us)", .scale = Scale::log10},
                .y = {.title = "share of frames (%)"},
                .series = {{.name = "frames", .points = {}}}};
    double all = 0;
    for (const auto& bucket : run.histogram) all += bucket.frames;
    for (const auto& bin : bins(run.histogram))
        panel.series.front().points.push_back({.x = bin.low,
                                               .y = 100 * bin.frames / all,
                                               .low = bin.low,
                                               .high = bin.high,
                                               .label = fmt::format("{} frames", bin.frames)});
    if (run.latency) {
        for (const auto& percentile : percentiles)
            panel.marks.push_back(
                {.name = std::string(percentile.name), .value = (*run.latency).*percentile.value, .upright = true});
    }
    return panel;
}

void add_histograms(std::vector<Figure>& figures, const std::vector<PacketRun>& runs) {
    Figure figure{
        .id = "latency-histogram",
        .title = "Distribution of latency",
        .note =
            "The share of the frames in each quarter of an octave, and the percentiles. The tail is seen in the "
            "percentiles rather than in bars.",
        .panels = {},
        .table = {.title = "Frames by latency", .columns = {"file", "above (us)", "up to (us)", "frames"}, .rows = {}}};
    constexpr double thousandths = 1000;
    for (const auto& run : runs) {
        const auto shown = bins(run.histogram);
        if (std::ranges::all_of(shown, [](const Bin& bin) { return bin.frames == 0; })) continue;
        figure.panels.push_back(histogram_panel(run));
        for (const auto& bin : shown)
            figure.table.rows.push_back({run.file, cell(std::round(bin.low * thousandths) / thousandths),
                                         cell(std::round(bin.high * thousandths) / thousandths), cell(bin.frames)});
    }
    if (!figure.panels.empty()) figures.push_back(std::move(figure));
}

}  // namespace

std::vector<Figure> latency_figures(const std::vector<PacketRun>& runs) {
    std::vector<Figure> figures;
    add_by_size(figures, runs);
    add_percentiles(figures, runs);
    add_histograms(figures, runs);
    return figures;
}

}  // namespace verbline::report

// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>
#include <utility>

#include "apps/verbline/report/fields.h"
#include "apps/verbline/report/figures.h"
#include "apps/verbline/report/packet_parameters.h"

namespace verbline::report {
namespace {

constexpr double most_log2_flows = 4096;

/// Of runs, against one of their parameters.
struct Sweep {
    Varied varied = Varied::nothing;
    std::string id, title, note;
    Axis x;
    double (*place)(const PacketRun&);
    Axis y;
    std::optional<double> (*value)(const PacketRun&);
};

std::optional<double> mpps(const PacketRun& run) {
    return run.mpps;
}
std::optional<double> gigabits(const PacketRun& run) {
    return run.gigabits;
}

/// If queues and lcores change together, a line over lcores must not break at each of them.
bool queues_follow_lcores(const std::vector<PacketRun>& runs) {
    std::map<double, double> queues;
    return std::ranges::all_of(
        runs, [&](const PacketRun& run) { return queues.emplace(run.lcores, run.queues).first->second == run.queues; });
}

/// The rows behind the lines, one for each file, by their place on the x axis.
Table table(const std::vector<PacketRun>& runs, const Sweep& sweep) {
    Table made{.title = sweep.title,
               .columns = {sweep.x.title, sweep.y.title, "role", "devices", "protocol", "size", "flows", "queues",
                           "lcores", "file"},
               .rows = {}};
    for (const auto& run : runs) {
        const auto value = sweep.value(run);
        if (!value) continue;
        const auto place = sweep.place(run);
        const auto behind = std::ranges::upper_bound(
            made.rows, place, {}, [](const auto& row) { return row.front().template get<double>(); });
        made.rows.insert(behind, {cell(place), cell(value), run.role, devices_text(run), protocol_text(run),
                                  size_text(run), cell(run.flows), cell(run.queues), cell(run.lcores), run.file});
    }
    return made;
}

void add(std::vector<Figure>& figures, const std::vector<PacketRun>& runs, Sweep sweep) {
    const bool follow = sweep.varied == Varied::lcores && queues_follow_lcores(runs);
    std::vector<Sample> samples;
    for (const auto& run : runs) {
        if (const auto value = sweep.value(run))
            samples.push_back({parameters(run, sweep.varied, follow), sweep.place(run), *value});
    }
    auto series = merge(samples, runs.empty() ? "" : runs.front().role);
    if (series.empty()) return;
    sweep.y.scale = value_scale(series);
    Panel panel{.x = sweep.x, .y = sweep.y, .series = std::move(series)};
    figures.push_back({.id = sweep.id,
                       .title = sweep.title,
                       .note = sweep.note + " " + in_common(samples),
                       .panels = {std::move(panel)},
                       .table = table(runs, sweep)});
}

Scale flows_scale(const std::vector<PacketRun>& runs) {
    const bool many = std::ranges::any_of(runs, [](const PacketRun& run) { return run.flows > most_log2_flows; });
    return many ? Scale::log10 : Scale::log2;
}

/// RFC 2544's searches: what was lost at which rate.
void add_loss(std::vector<Figure>& figures, const std::vector<PacketRun>& runs) {
    std::vector<Sample> samples;
    Table table{.title = "Frames lost at each offered rate",
                .columns = {"offered rate (Mpps)", "lost (%)", "sent", "lost", "file"},
                .rows = {}};
    for (const auto& run : runs) {
        for (const auto& trial : run.trials) {
            if (trial.sent == 0) continue;
            const double percent = 100 * trial.lost / trial.sent;
            samples.push_back({parameters(run, Varied::nothing), trial.asked_mpps, percent});
            table.rows.push_back({cell(trial.asked_mpps), cell(percent), cell(trial.sent), cell(trial.lost), run.file});
        }
    }
    auto series = merge(samples, "trials");
    if (series.empty()) return;
    figures.push_back({.id = "loss-by-rate",
                       .title = "Frames lost against the offered rate",
                       .note = "The trials of searches by RFC 2544. " + in_common(samples),
                       .panels = {{.x = {.title = "offered rate (Mpps)"},
                                   .y = {.title = "frames lost (%)"},
                                   .series = std::move(series)}},
                       .table = std::move(table)});
}

}  // namespace

std::vector<Figure> packet_figures(const std::vector<PacketRun>& runs) {
    const std::string counted = "Frames received; of a generator and a forwarder, frames sent.";
    const Axis size{.title = "frame size with check sequence (bytes)", .scale = Scale::log2};
    const auto average_size = [](const PacketRun& run) { return run.average_size; };
    std::vector<Figure> figures;
    add(figures, runs,
        {Varied::size,
         "throughput-by-frame-size",
         "Throughput against frame size",
         "Of frames, without preamble and gap; of a forwarder, what it received.",
         size,
         average_size,
         {.title = "throughput (Gbit/s)"},
         gigabits});
    add(figures, runs,
        {Varied::size,
         "rate-by-frame-size",
         "Rate against frame size",
         counted,
         size,
         average_size,
         {.title = "rate (Mpps)"},
         mpps});
    add(figures, runs,
        {Varied::flows,
         "rate-by-flows",
         "Rate against number of flows",
         counted,
         {.title = "flows", .scale = flows_scale(runs)},
         [](const PacketRun& run) { return run.flows; },
         {.title = "rate (Mpps)"},
         mpps});
    add(figures, runs,
        {Varied::lcores,
         "rate-by-lcores",
         "Rate against number of lcores",
         counted,
         {.title = "lcores"},
         [](const PacketRun& run) { return run.lcores; },
         {.title = "rate (Mpps)"},
         mpps});
    add_loss(figures, runs);
    return figures;
}

Table packet_results(const std::vector<PacketRun>& runs) {
    Table table{.title = "Frames",
                .columns = {"file", "role", "devices", "protocol", "size", "flows", "queues", "lcores", "rate (Mpps)",
                            "throughput (Gbit/s)", "lost", "latency p50 (us)", "p99 (us)", "p99.99 (us)"},
                .rows = {}};
    for (const auto& run : runs) {
        const auto time = [&](double Latency::* percentile) {
            return run.latency ? cell((*run.latency).*percentile) : Json(nullptr);
        };
        table.rows.push_back({run.file, run.role, devices_text(run), protocol_text(run), size_text(run),
                              cell(run.flows), cell(run.queues), cell(run.lcores), cell(run.mpps), cell(run.gigabits),
                              cell(run.lost), time(&Latency::p50), time(&Latency::p99), time(&Latency::p99_99)});
    }
    return without_empty_columns(std::move(table));
}

}  // namespace verbline::report

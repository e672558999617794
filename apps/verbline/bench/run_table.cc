// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/run_table.h"

#include <array>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "apps/verbline/bench/rounded.h"
#include "datapath/traffic/pace.h"

namespace verbline::bench {
namespace {

using cli::Json;

/// In a table for people; the other forms have all.
constexpr std::array<std::string_view, 7> left_out{"tx_packets", "tx_gbit_s",  "tx_line_gbit_s", "rx_packets",
                                                   "rx_gbit_s",  "duplicates", "reordered"};

/// Of the first port's line, in one direction, gaps between frames included: of what arrived or, if nothing is
/// received, of what was sent.
Json line_percent(const PacketPlan& plan, const Report& report) {
    const auto& trial = *report.trials.back();
    const auto speed = report.ports.empty() ? std::nullopt : report.ports.front().bits_per_second;
    if (!speed) return nullptr;
    const auto& volume = plan.role == Role::generator ? trial.tx : trial.rx;
    const auto bits = 8 * trial.per_second(volume.bytes + traffic::line_overhead * volume.packets);
    return rounded(100 * bits / plan.directions() / static_cast<double>(*speed), 2);
}

Json cycles_per_packet(const TrialResult& trial) {
    std::uint64_t cycles = 0, packets = 0;
    for (const auto& lcore : trial.lcores) cycles += lcore.busy_cycles, packets += lcore.packets;
    if (packets == 0) return nullptr;
    return rounded(static_cast<double>(cycles) / static_cast<double>(packets), 1);
}

void add_measured(const PacketPlan& plan, const Report& report, Json& row) {
    const auto& trial = *report.trials.back();
    row.update(trial_row(plan, trial));
    if (const auto percent = line_percent(plan, report); !percent.is_null()) row["line_percent"] = percent;
    if (const auto cycles = cycles_per_packet(trial); !cycles.is_null()) row["cycles_per_packet"] = cycles;
    add_latency(trial, report.cycles_per_second, row);
}

/// A trial of a series says little by itself: of loss rates and bursts the row has what the series found.
bool last_trial_counts(const PacketPlan& plan) {
    return plan.search == Search::none || plan.search == Search::throughput;
}

}  // namespace

Json run_row(const RunReport& done) {
    const auto& [run, report] = done;
    Json row{{"run", run->name}, {"size", run->size}, {"protocol", run->plan.protocol}};
    if (last_trial_counts(run->plan)) add_measured(run->plan, *report, row);
    if (report->search.is_object()) row.update(report->search);
    row.erase("test");
    return row;
}

Json runs_to_json(const Profile& profile, std::span<const RunReport> runs) {
    Json all = Json::array();
    for (const auto& done : runs) {
        Json one{{"profile", {{"file", profile.file}, {"description", profile.description}, {"eal", profile.eal}}},
                 {"run", done.run->name}};
        one.update(to_json(done.run->plan, *done.report));
        all.push_back(std::move(one));
    }
    return all;
}

std::string runs_to_text(const Profile& profile, std::span<const RunReport> runs) {
    Json rows = Json::array(), drops = Json::array();
    for (const auto& done : runs) {
        auto row = run_row(done);
        for (const auto key : left_out) row.erase(std::string(key));
        rows.push_back(std::move(row));
        for (const auto& drop : drop_rows(*done.report->trials.back())) {
            Json named{{"run", done.run->name}};
            named.update(drop);
            drops.push_back(std::move(named));
        }
    }
    auto out = profile.description.empty() ? "" : profile.description + "\n\n";
    out += cli::render_table(rows);
    if (!runs.empty()) {
        const auto& [run, report] = runs.front();
        out += offload_table(report->ports, run->plan.ports) + rule_table(report->ports);
    }
    return drops.empty() ? out : out + "\ndrops\n" + cli::render_table(drops);
}

std::string runs_to_csv(std::span<const RunReport> runs) {
    Json rows = Json::array();
    for (const auto& done : runs) {
        auto row = run_row(done);
        add_settings(done.run->plan, *done.report, *done.report->trials.back(), row);
        rows.push_back(std::move(row));
    }
    return cli::render_csv(rows);
}

}  // namespace verbline::bench

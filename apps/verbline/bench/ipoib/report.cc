// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/ipoib/report.h"

#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "apps/verbline/bench/figures.h"
#include "apps/verbline/bench/report.h"
#include "apps/verbline/bench/rounded.h"

namespace verbline::ipoib_bench {
namespace {

using bench::rounded;
using cli::Json;

std::string_view name(Worker worker) {
    constexpr std::array<std::string_view, 3> names{"off", "software", "device"};
    return names[std::to_underlying(worker)];
}

Json result_row(const IpoibPlan& plan, const Results& results, const Series& one, Direction direction,
                double cycles_per_second) {
    const auto& rounds = one.cycles(direction);
    const auto cycles = bench::median(rounds);
    const auto seconds = cycles / cycles_per_second;
    Json row{{"size", one.what.size},
             {"protocol", plan.large(one.what) ? "tcp" : "udp"},
             {"direction", direction == Direction::send ? "send" : "receive"},
             {"offload", name(one.worker(direction))},
             {"carrier", name_of(one.link)},
             {"mpps", rounded(1e-6 / seconds, 6)},
             {"gbit_s", rounded(8e-9 * one.what.size / seconds, 4)},
             {"ns_per_packet", rounded(1e9 * seconds, 2)},
             {"cycles_per_packet", rounded(cycles, 1)},
             {"spread_percent", rounded(bench::spread_percent(rounds), 1)}};
    if (!one.link) return row;
    const auto ratios = results.ratios(one, direction);
    row["ratio"] = rounded(bench::median(ratios));
    row["ratio_spread_percent"] = rounded(bench::spread_percent(ratios), 1);
    return row;
}

Json frame_counts(const Counts& counts) {
    return {{"sent", counts.sent}, {"received", counts.received}, {"damaged", counts.damaged}};
}

Json traffic_facts(const IpoibPlan& plan, const Results& results) {
    return {{"mtu", plan.mtu},
            {"burst", plan.burst},
            {"rounds", results.rounds()},
            {"seconds_each", rounded(static_cast<double>(plan.slice) / second, 6)}};
}

}  // namespace

Json result_rows(const IpoibPlan& plan, const Results& results, double cycles_per_second) {
    Json rows = Json::array();
    for (const auto& what : plan.cases)
        for (const auto direction : {Direction::send, Direction::receive})
            for (const auto& one : results.series())
                if (one.what == what) rows.push_back(result_row(plan, results, one, direction, cycles_per_second));
    return rows;
}

Json ratio_rows(const IpoibPlan& plan, const Results& results) {
    Json rows = Json::array();
    for (const auto link : plan.links)
        if (link) rows.push_back({{"carrier", name_of(link)}, {"ratio", rounded(results.ratio(link))}});
    rows.push_back({{"carrier", "all"}, {"ratio", rounded(results.ratio())}});
    return rows;
}

Json to_json(const IpoibPlan& plan, const Results& results, const Report& report) {
    return {{"ports", bench::port_rows(report.ports)},
            {"traffic", traffic_facts(plan, results)},
            {"frames", frame_counts(results.counts())},
            {"results", result_rows(plan, results, report.cycles_per_second)},
            {"ratios", ratio_rows(plan, results)},
            {"ratio", rounded(results.ratio())},
            {"machine", report.machine}};
}

std::string to_text(const IpoibPlan& plan, const Results& results, const Report& report) {
    return fmt::format(
        "{}\nIPoIB to Ethernet, packets a second: geometric mean of all sizes, directions and offload settings\n{}{}",
        cli::render_table(result_rows(plan, results, report.cycles_per_second)),
        cli::render_table(ratio_rows(plan, results)), bench::offload_table(report.ports, plan.ports));
}

std::string to_csv(const IpoibPlan& plan, const Results& results, const Report& report) {
    return cli::render_csv(result_rows(plan, results, report.cycles_per_second));
}

}  // namespace verbline::ipoib_bench

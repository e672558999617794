// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/verbline/bench/rounded.h"
#include "datapath/traffic/pace.h"

namespace verbline::bench {
namespace {

using cli::Json;

double mega(double value) {
    return rounded(value / 1e6, 6);
}
double gigabits(double bytes_per_second) {
    return rounded(8 * bytes_per_second / 1e9, 4);
}
/// With preamble and gap of each frame: what a line of that speed would be full of.
double line_gigabits(const Volume& volume, const TrialResult& trial) {
    return gigabits(trial.per_second(volume.bytes + traffic::line_overhead * volume.packets));
}

std::string_view name(Role role) {
    constexpr std::array<std::string_view, 4> names{"generator", "sink", "forwarder", "loopback"};
    return names[static_cast<std::size_t>(role)];
}

bool sends(const PacketPlan& plan) {
    return plan.sends() || plan.role == Role::forwarder;
}
bool receives(const PacketPlan& plan) {
    return plan.role != Role::generator;
}

Json frame_facts(const PacketPlan& plan) {
    Json sizes = Json::array();
    for (const auto size : plan.sizes.sizes()) sizes.push_back(size);
    return {{"protocol", plan.protocol},
            {"sizes", sizes},
            {"average_size", rounded(plan.sizes.average())},
            {"flows", plan.flows},
            {"burst", plan.burst},
            {"mtu", plan.mtu},
            {"directions", plan.directions()}};
}

/// What was asked for, and what the port has of it.
void add_offloads(const PortFacts& port, Json& row) {
    row["offloads_asked"] = port.asked.offloads;
    row["rx_offloads"] = pmd::rx_offload_names(port.in_effect->rx);
    row["tx_offloads"] = pmd::tx_offload_names(port.in_effect->tx);
    if (!port.asked.rss_types.empty()) row["rss_types_asked"] = port.asked.rss_types;
    row["rss_types"] = pmd::rss_type_names(port.in_effect->rss);
}

void add_rules(const PortFacts& port, Json& row) {
    row["roce_rules"] = {{"match", pmd::name_of(port.rules->match)},
                         {"count", port.rules->count},
                         {"refused", port.rules->refused},
                         {"isolated", port.isolated}};
}

std::string words(const std::vector<std::string>& names) {
    return fmt::format("{}", fmt::join(names, " "));
}

std::string titled(std::string_view title, const std::string& table) {
    return table.empty() ? "" : fmt::format("\n{}\n{}", title, table);
}

}  // namespace

Json port_rows(std::span<const PortFacts> ports) {
    Json rows = Json::array();
    for (const auto& port : ports) {
        Json row{{"device", port.device}};
        if (!port.driver.empty()) row["driver"] = port.driver;
        if (!port.firmware.empty()) row["firmware"] = port.firmware;
        if (port.bits_per_second) row["speed_gbit_s"] = static_cast<double>(*port.bits_per_second) / 1e9;
        if (port.numa_socket >= 0) row["numa_node"] = port.numa_socket;
        if (port.in_effect) add_offloads(port, row);
        if (port.rules) add_rules(port, row);
        rows.push_back(row);
    }
    return rows;
}

std::string offload_table(std::span<const PortFacts> ports, const PortChoice& choice) {
    if (!choice.has_any()) return "";
    Json rows = Json::array();
    for (const auto& port : ports) {
        Json row{{"device", port.device}, {"asked", choice.texts.offloads}};
        if (!choice.texts.rss_types.empty()) row["rss_types_asked"] = choice.texts.rss_types;
        const auto found = port.in_effect.value_or(pmd::Offloads{});
        row["rx"] = words(pmd::rx_offload_names(found.rx)), row["tx"] = words(pmd::tx_offload_names(found.tx));
        row["rss_types"] = words(pmd::rss_type_names(found.rss));
        rows.push_back(row);
    }
    return titled("offloads", cli::render_table(rows));
}

std::string rule_table(std::span<const PortFacts> ports) {
    Json rows = Json::array();
    for (const auto& port : ports) {
        if (!port.rules) continue;
        rows.push_back({{"device", port.device},
                        {"roce_by", pmd::name_of(port.rules->match)},
                        {"rules", port.rules->count},
                        {"isolated", port.isolated}});
    }
    return titled("rules for RoCE", cli::render_table(rows));
}

Json trial_row(const PacketPlan& plan, const TrialResult& trial) {
    Json row;
    row["seconds"] = rounded(static_cast<double>(trial.elapsed) / second);
    if (trial.asked) row["asked_mpps"] = mega(trial.asked->frames(plan.sizes.average()));
    if (sends(plan)) {
        row["tx_packets"] = trial.tx.packets;
        row["tx_mpps"] = mega(trial.tx_rate());
    }
    if (plan.sends()) {
        row["tx_gbit_s"] = gigabits(trial.per_second(trial.tx.bytes));
        row["tx_line_gbit_s"] = line_gigabits(trial.tx, trial);
    }
    if (receives(plan)) {
        row["rx_packets"] = trial.rx.packets;
        row["rx_mpps"] = mega(trial.rx_rate());
        row["rx_gbit_s"] = gigabits(trial.per_second(trial.rx.bytes));
    }
    if (trial.lost) {
        row["lost"] = *trial.lost;
        row["duplicates"] = trial.order.duplicates;
        row["reordered"] = trial.order.reordered;
    }
    return row;
}

Json queue_rows(const PacketPlan& plan, const TrialResult& trial) {
    Json rows = Json::array();
    for (const auto& queue : trial.queues) {
        Json row{{"port", queue.port}, {"queue", queue.queue}, {"lcore", queue.lcore}};
        if (sends(plan)) {
            row["tx_packets"] = queue.tx.packets;
            row["tx_mpps"] = mega(trial.per_second(queue.tx.packets));
        }
        if (plan.sends()) row["tx_gbit_s"] = gigabits(trial.per_second(queue.tx.bytes));
        if (receives(plan)) {
            row["rx_packets"] = queue.rx.packets;
            row["rx_mpps"] = mega(trial.per_second(queue.rx.packets));
            row["rx_gbit_s"] = gigabits(trial.per_second(queue.rx.bytes));
            if (trial.rx.packets > 0)
                row["rx_percent"] =
                    rounded(100. * static_cast<double>(queue.rx.packets) / static_cast<double>(trial.rx.packets));
        }
        rows.push_back(row);
    }
    return rows;
}

Json lcore_rows(const TrialResult& trial) {
    Json rows = Json::array();
    for (const auto& lcore : trial.lcores) {
        rows.push_back({{"lcore", lcore.lcore},
                        {"packets", lcore.packets},
                        {"mpps", mega(trial.per_second(lcore.packets))},
                        {"cycles_per_packet", rounded(lcore.cycles_per_packet(), 1)},
                        {"busy_percent", rounded(lcore.busy_percent(), 1)}});
    }
    return rows;
}

Json drop_rows(const TrialResult& trial) {
    Json rows = Json::array();
    for (const auto& drop : trial.drops)
        rows.push_back({{"where", drop.where}, {"reason", drop.name}, {"count", drop.count}});
    return rows;
}

Json latency(const TrialResult& trial, double cycles_per_second) {
    const auto& times = trial.latency;
    if (times.count() == 0) return nullptr;
    const auto us = [&](double cycles) { return rounded(cycles * 1e6 / cycles_per_second); };
    Json row{{"frames", times.count()}, {"min", us(static_cast<double>(times.min()))}, {"mean", us(times.mean())}};
    constexpr std::array percentiles{std::pair("p50", 50.), std::pair("p90", 90.), std::pair("p99", 99.),
                                     std::pair("p99_9", 99.9), std::pair("p99_99", 99.99)};
    for (const auto& [key, percent] : percentiles) row[key] = us(static_cast<double>(times.percentile(percent)));
    row["max"] = us(static_cast<double>(times.max()));
    return row;
}

Json timestamps(const PacketPlan& plan, const TrialResult& trial) {
    if (plan.role != Role::loopback) return nullptr;
    if (plan.timestamps == Timestamps::tsc) return {{"source", "tsc"}};
    Json row{{"source", "hardware"}, {"undated", trial.undated}, {"misdated", trial.misdated}};
    row["clock_steps"] = Json::array();
    row["clock_hz"] = Json::array();
    for (const auto& clock : trial.clocks) {
        row["clock_hz"].push_back(std::llround(clock.hertz));
        row["clock_steps"].push_back(clock.steps);
    }
    return row;
}

Json spread(const PacketPlan& plan, const TrialResult& trial) {
    if (plan.queues < 2 || plan.role == Role::generator || trial.rx.packets == 0) return nullptr;
    const auto last_port = trial.queues.back().port;
    const bool all_ports = plan.role == Role::forwarder || plan.bidirectional;  // receive; else the last alone
    const auto even =
        static_cast<double>(trial.rx.packets) / (plan.queues * (all_ports ? static_cast<double>(last_port + 1) : 1));
    double most = 0;
    for (const auto& queue : trial.queues) {
        if (queue.port != last_port && !all_ports) continue;
        most = std::max(most, std::abs(static_cast<double>(queue.rx.packets) - even) / even);
    }
    // Each flow goes to one of q queues by chance: of n flows, n/q (1 - 1/q) is the variance of a queue's number.
    const double queues = plan.queues, flows = static_cast<double>(plan.flows);
    const double deviation = std::sqrt(flows / queues * (1 - 1 / queues)) / (flows / queues);
    return {{"queues", plan.queues},
            {"furthest_from_even_percent", rounded(100 * most)},
            {"standard_deviation_by_chance_percent", rounded(100 * deviation)}};
}

Json to_json(const PacketPlan& plan, const Report& report) {
    const auto& last = *report.trials.back();
    Json out{{"role", name(plan.role)},         {"ports", port_rows(report.ports)}, {"frames", frame_facts(plan)},
             {"result", trial_row(plan, last)}, {"queues", queue_rows(plan, last)}, {"lcores", lcore_rows(last)},
             {"drops", drop_rows(last)}};
    if (const auto times = latency(last, report.cycles_per_second); !times.is_null()) {
        out["latency_us"] = times;
        Json buckets = Json::array();
        last.latency.each([&](std::uint64_t cycles, std::uint64_t count) {
            buckets.push_back(
                Json::array({rounded(static_cast<double>(cycles) * 1e6 / report.cycles_per_second), count}));
        });
        out["latency_histogram_us"] = buckets;
    }
    if (const auto clock = timestamps(plan, last); !clock.is_null()) out["timestamps"] = clock;
    if (const auto share = spread(plan, last); !share.is_null()) out["spread"] = share;
    if (!report.search.is_null()) {
        out["rfc2544"] = report.search;
        out["trials"] = Json::array();
        for (const auto& trial : report.trials) out["trials"].push_back(trial_row(plan, *trial));
    }
    out["machine"] = report.machine;
    return out;
}

std::string to_text(const PacketPlan& plan, const Report& report) {
    const auto& last = *report.trials.back();
    std::string out;
    Json trials = Json::array();
    for (const auto& trial : report.trials) trials.push_back(trial_row(plan, *trial));
    out += report.search.is_null() ? cli::render_object(trials.back()) : cli::render_table(trials);
    if (!report.search.is_null()) out += titled("RFC 2544", cli::render_object(report.search));
    out += offload_table(report.ports, plan.ports) + rule_table(report.ports);
    out += titled("queues", cli::render_table(queue_rows(plan, last)));
    if (const auto share = spread(plan, last); !share.is_null())
        out += titled("spread over receive queues", cli::render_object(share));
    out += titled("lcores", cli::render_table(lcore_rows(last)));
    if (const auto times = latency(last, report.cycles_per_second); !times.is_null())
        out += titled("latency, microseconds", cli::render_table(Json::array({times})));
    if (plan.timestamps != Timestamps::tsc)
        out += titled("timestamps", cli::render_table(Json::array({timestamps(plan, last)})));
    return out + titled("drops", cli::render_table(drop_rows(last)));
}

std::string to_csv(const PacketPlan& plan, const Report& report) {
    Json rows = Json::array();
    for (const auto& trial : report.trials) {
        auto row = trial_row(plan, *trial);
        add_latency(*trial, report.cycles_per_second, row);
        add_settings(plan, report, *trial, row);
        rows.push_back(std::move(row));
    }
    return cli::render_csv(rows);
}

void add_latency(const TrialResult& trial, double cycles_per_second, Json& row) {
    const auto times = latency(trial, cycles_per_second);
    if (times.is_null()) return;
    for (const auto* key : {"min", "mean", "p50", "p99", "max"}) row[fmt::format("{}_us", key)] = times[key];
}

void add_settings(const PacketPlan& plan, const Report& report, const TrialResult& trial, Json& row) {
    const auto clock = timestamps(plan, trial);
    for (const auto* key : {"source", "undated", "misdated"})
        if (clock.contains(key)) row[key == std::string_view("source") ? "timestamps" : key] = clock[key];
    if (report.ports.empty()) return;
    const auto &first = report.ports.front().in_effect, &last = report.ports.back().in_effect;
    if (first && sends(plan)) row["tx_offloads"] = words(pmd::tx_offload_names(first->tx));
    if (!last || !receives(plan)) return;
    row["rx_offloads"] = words(pmd::rx_offload_names(last->rx));
    row["rss_types"] = words(pmd::rss_type_names(last->rss));
}

std::string progress_line(const PacketPlan& plan, const Volume& tx, const Volume& rx, Time span, Time elapsed) {
    const auto part = [&](std::string_view direction, const Volume& volume) {
        const double seconds = static_cast<double>(std::max<Time>(span, 1)) / second;
        return fmt::format("  {} {:.3f} Mpps {:.3f} Gbit/s", direction,
                           static_cast<double>(volume.packets) / seconds / 1e6,
                           8 * static_cast<double>(volume.bytes) / seconds / 1e9);
    };
    auto line = fmt::format("{:.0f} s", static_cast<double>(elapsed) / second);
    if (plan.sends()) line += part("tx", tx);
    if (receives(plan)) line += part("rx", rx);
    return line;
}

}  // namespace verbline::bench

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What was measured, as JSON, as text and as CSV.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/verbline/bench/plan.h"
#include "apps/verbline/bench/ports.h"
#include "apps/verbline/bench/trial.h"
#include "apps/verbline/output/table.h"

namespace verbline::bench {

struct Report {
    std::vector<PortFacts> ports;
    std::vector<std::unique_ptr<TrialResult>> trials;  ///< at least one; the last is shown in full
    cli::Json search;                                  ///< flat object of its outcome; null: there was none
    cli::Json machine;                                 ///< what else changes the figures
    double cycles_per_second = 1;                      ///< of the time stamp counter
};

/// One row for each device.
cli::Json port_rows(std::span<const PortFacts> ports);
/// A table of the offloads of ports of DPDK, below its title; empty: the usual, none, were asked for.
std::string offload_table(std::span<const PortFacts> ports, const PortChoice& choice);
/// Likewise of rules for RoCE; empty: none were asked for.
std::string rule_table(std::span<const PortFacts> ports);
/// One row for a trial: what was asked for, sent, received and lost.
cli::Json trial_row(const PacketPlan& plan, const TrialResult& trial);
cli::Json queue_rows(const PacketPlan& plan, const TrialResult& trial);
cli::Json lcore_rows(const TrialResult& trial);
cli::Json drop_rows(const TrialResult& trial);
/// Microseconds; null: not measured.
cli::Json latency(const TrialResult& trial, double cycles_per_second);
/// By which clock it was measured, and what that clock has not dated; null: it was not measured.
cli::Json timestamps(const PacketPlan& plan, const TrialResult& trial);
/// How evenly receive queues share the frames; null: there is one queue.
cli::Json spread(const PacketPlan& plan, const TrialResult& trial);

cli::Json to_json(const PacketPlan& plan, const Report& report);
std::string to_text(const PacketPlan& plan, const Report& report);
/// The rows of all trials, below a line of names.
std::string to_csv(const PacketPlan& plan, const Report& report);
/// Columns for a few figures of `latency`, if any was measured: min_us, p50_us, ...
void add_latency(const TrialResult& trial, double cycles_per_second, cli::Json& row);
/// Columns for what `to_json` has of timestamps, and of the offloads of the port that sends, and of that which
/// receives.
void add_settings(const PacketPlan& plan, const Report& report, const TrialResult& trial, cli::Json& row);

/// "12 s  tx 14.20 Mpps 9.54 Gbit/s  rx ...", of the time since the last line.
std::string progress_line(const PacketPlan& plan, const Volume& tx, const Volume& rx, Time span, Time elapsed);

}  // namespace verbline::bench

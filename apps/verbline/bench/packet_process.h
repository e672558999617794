// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Runs `verbline bench packet` from a plan: DPDK, ports, trials, report.

#include <string>
#include <vector>

#include "apps/verbline/bench/plan.h"
#include "apps/verbline/command_line/command.h"

namespace verbline::bench {

enum class Format { text, json, csv };

struct PacketRun {
    PacketPlan plan;
    std::vector<std::string> eal_arguments;  ///< the user's; empty: none
    Format format = Format::text;
    Time interval = 0;  ///< between lines of progress; 0: on a terminal one line, each second, in place
};

cli::Outcome run_packet(const PacketRun& run);

}  // namespace verbline::bench

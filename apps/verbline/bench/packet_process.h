// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Runs `verbline bench packet` from plans: DPDK, ports, trials, report.

#include <optional>
#include <string>
#include <vector>

#include "apps/verbline/bench/profile_plan.h"
#include "apps/verbline/command_line/command.h"

namespace verbline::bench {

enum class Format { text, json, csv };

struct PacketRun {
    std::vector<PlannedRun> runs;            ///< at least one; all use the same ports and lcores
    std::optional<Profile> profile;          ///< that they are of
    std::vector<std::string> eal_arguments;  ///< the user's; empty: none
    Format format = Format::text;
    Time interval = 0;  ///< between lines of progress; 0: on a terminal one line, each second, in place
};

cli::Outcome run_packet(const PacketRun& run);

}  // namespace verbline::bench

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The rates that runs ask for, in terms of the open port.

#include <expected>
#include <optional>
#include <span>
#include <vector>

#include "apps/verbline/bench/ports.h"
#include "apps/verbline/bench/profile_plan.h"
#include "apps/verbline/command_line/command.h"
#include "datapath/traffic/pace.h"

namespace verbline::bench {

/// For each run: none, as fast as it goes. A usage failure: a share of a line whose speed the port does not say.
std::expected<std::vector<std::optional<traffic::Rate>>, cli::Failure> resolve_rates(std::span<const PlannedRun> runs,
                                                                                     BenchPort& port);

}  // namespace verbline::bench

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Runs the trials of an RFC 2544 search.

#include <functional>
#include <memory>
#include <vector>

#include "apps/verbline/bench/plan.h"
#include "apps/verbline/bench/trial.h"
#include "apps/verbline/output/table.h"
#include "pmd/base/error.h"

namespace verbline::bench {

/// Runs one trial of these settings; `run` of the settings is set by the callee.
using RunTrial = std::function<Result<std::unique_ptr<TrialResult>>(TrialSettings settings)>;

struct SearchOutcome {
    std::vector<std::unique_ptr<TrialResult>> trials;  ///< at least one
    cli::Json found;                                   ///< flat
};

/// `max_rate`: frames a second. Ends early after a trial that a signal has interrupted.
Result<SearchOutcome> run_search(const PacketPlan& plan, double max_rate, const RunTrial& run);

}  // namespace verbline::bench

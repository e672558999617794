// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The runs of a profile beside each other, as JSON, as text and as CSV.

#include <span>
#include <string>

#include "apps/verbline/bench/profile_plan.h"
#include "apps/verbline/bench/report.h"
#include "apps/verbline/output/table.h"

namespace verbline::bench {

/// A run and what came of it.
struct RunReport {
    const PlannedRun* run = nullptr;
    const Report* report = nullptr;
};

/// One row for a run: what a table of a published report has, and what a search found.
cli::Json run_row(const RunReport& done);

/// An array of what each run prints by itself, with the profile and its name.
cli::Json runs_to_json(const Profile& profile, std::span<const RunReport> runs);
std::string runs_to_text(const Profile& profile, std::span<const RunReport> runs);
/// A row for each run, below a line of names.
std::string runs_to_csv(std::span<const RunReport> runs);

}  // namespace verbline::bench

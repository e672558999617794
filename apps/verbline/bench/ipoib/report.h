// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What was measured, as JSON, as text and as CSV.

#include <string>
#include <vector>

#include "apps/verbline/bench/ipoib/results.h"
#include "apps/verbline/bench/ports.h"
#include "apps/verbline/output/table.h"

namespace verbline::ipoib_bench {

struct Report {
    std::vector<bench::PortFacts> ports;
    cli::Json machine;             ///< what else changes the figures
    double cycles_per_second = 1;  ///< of the time stamp counter
};

/// One row for each case, direction and link: of all rounds the medians, with their spread.
cli::Json result_rows(const IpoibPlan& plan, const Results& results, double cycles_per_second);
/// One row for each carrier, and one for all.
cli::Json ratio_rows(const IpoibPlan& plan, const Results& results);

cli::Json to_json(const IpoibPlan& plan, const Results& results, const Report& report);
std::string to_text(const IpoibPlan& plan, const Results& results, const Report& report);
/// The rows of results, below a line of names.
std::string to_csv(const IpoibPlan& plan, const Results& results, const Report& report);

}  // namespace verbline::ipoib_bench

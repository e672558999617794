// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Runs `verbline bench ipoib` from a plan: DPDK, devices, one thread that measures, output.

#include <string>
#include <vector>

#include "apps/verbline/bench/ipoib/plan.h"
#include "apps/verbline/command_line/command.h"

namespace verbline::ipoib_bench {

enum class Format { text, json, csv };

struct IpoibRun {
    IpoibPlan plan;
    std::vector<std::string> eal_arguments;  ///< the user's; empty: none
    Format format = Format::text;
    Time interval = 0;  ///< between lines of progress; 0: on a terminal one line, each second, in place
};

/// A run-time failure, too, if packets were lost or damaged: after the figures are printed.
cli::Outcome run_ipoib(const IpoibRun& run);

}  // namespace verbline::ipoib_bench

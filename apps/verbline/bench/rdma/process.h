// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Runs `verbline bench rdma` from a plan: DPDK, ports, one thread for each end, output.

#include <string>
#include <vector>

#include "apps/verbline/bench/rdma/plan.h"
#include "apps/verbline/command_line/command.h"

namespace verbline::rdma_bench {

enum class Format { text, json, csv };

struct RdmaRun {
    RdmaPlan plan;
    std::vector<std::string> eal_arguments;  ///< the user's; empty: none
    Format format = Format::text;
};

cli::Outcome run_rdma(const RdmaRun& run);

}  // namespace verbline::rdma_bench

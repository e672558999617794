// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What was measured, in perftest's columns and by the keys of its JSON.

#include <span>
#include <string>
#include <vector>

#include "apps/verbline/bench/rdma/client.h"
#include "apps/verbline/bench/rdma/plan.h"
#include "apps/verbline/bench/rdma/server.h"
#include "apps/verbline/output/table.h"

namespace verbline::rdma_bench {

/// One row, by perftest's keys. Bandwidths are of both ends together, in units of 2^20 bytes or, with `gigabits`, of
/// 10^9 bits a second.
cli::Json result_row(const RdmaPlan& plan, const RoundResult& result);

/// The line above the rows, and a row below it.
std::string header_line(const RdmaPlan& plan);
std::string row_line(const RdmaPlan& plan, const RoundResult& result);
/// Above and below a table.
std::string rule();
std::string csv_header(const RdmaPlan& plan);
std::string csv_row(const RdmaPlan& plan, const RoundResult& result);

/// What of the path is known only once it is connected.
struct PathFacts {
    std::uint32_t mtu = 0;
    unsigned gid_index = 0;
    bool infiniband = false;
};
/// perftest's objects test_info and results (of the last size), all sizes as `rounds`, and the machine.
cli::Json client_json(const RdmaPlan& plan, const PathFacts& path, std::span<const RoundResult> results,
                      const cli::Json& machine);

/// What a server has seen of each size.
cli::Json served_rows(std::span<const ServedRound> rounds);

}  // namespace verbline::rdma_bench

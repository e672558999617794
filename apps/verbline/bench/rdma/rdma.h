// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "apps/verbline/command_line/command.h"

namespace verbline::cli {

/// `verbline bench rdma`: bandwidth and latency of RDMA operations, in perftest's columns.
std::unique_ptr<Command> make_bench_rdma();

}  // namespace verbline::cli

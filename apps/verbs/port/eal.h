// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// DPDK's environment layer inside of somebody else's program.
///
/// It gets ordinary pages, no files, no PCI bus, no telemetry, and starts in a thread of its own that ends at once: the
/// program's threads keep their CPUs and signals. Its memory is private to the process, so that a child after fork has
/// a copy that works.

#include "pmd/error.h"

namespace verbline::verbs {

/// Once in a process; takes about 0.1 s.
Result<void> start_eal();

}  // namespace verbline::verbs

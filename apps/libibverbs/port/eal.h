// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// DPDK's environment layer inside of somebody else's program.
///
/// It gets ordinary pages, no files, no PCI bus, no telemetry, and starts in a thread of its own that ends at once: the
/// program's threads keep their CPUs and signals. Its memory is private to the process, so that a child after fork has
/// a copy that works.

#include <optional>

#include "pmd/base/error.h"

namespace verbline::verbs {

/// One for a process, called by one thread at a time.
class Eal {
public:
    /// Starts DPDK, if it does not run yet; takes about 0.1 s. What is missing before it can be started, descriptors
    /// (EMFILE, ENFILE) or a thread (EAGAIN), may be there when it is called again. Where DPDK itself has failed, every
    /// later call gives that error.
    Result<void> need();

private:
    std::optional<Result<void>> outcome_;  ///< of rte_eal_init, which is called once; nothing: not called yet
};

}  // namespace verbline::verbs

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// DPDK's environment layer (EAL) inside a program that is not ours.
///
/// EAL gets ordinary pages, no files, no PCI bus, no telemetry, and is initialised in a temporary thread: the program's
/// threads keep their CPUs and signals. Its memory is private to the process, so a child after fork has a working copy.

#include <optional>

#include "pmd/base/error.h"

namespace verbline::verbs {

/// One per process; not thread-safe.
class Eal {
public:
    /// Initialises DPDK unless it runs already; takes about 0.1 s. EMFILE or ENFILE (no descriptors) and EAGAIN (no
    /// thread) are returned before DPDK is called, and the call may be repeated. Once DPDK itself has failed, every
    /// later call returns that error.
    Result<void> need();

private:
    std::optional<Result<void>> outcome_;  ///< of rte_eal_init, which is called once; empty: not called yet
};

}  // namespace verbline::verbs

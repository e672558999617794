// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// DPDK's environment layer (EAL) inside a program that is not ours.
///
/// EAL gets ordinary pages, no files, no telemetry, of the PCI bus the devices that are links, and is initialised in a
/// temporary thread: the program's threads keep their CPUs and signals. Its memory is private to the process, so a
/// child after fork has a working copy; unless a link is a vhost port, whose other end maps it.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/libibverbs/settings/settings.h"
#include "pmd/base/error.h"

namespace verbline::verbs {

/// What links need of EAL, which a process starts once.
struct EalNeeds {
    std::vector<std::string> pci_devices;  ///< with DPDK's devargs behind each
    bool shares_memory = false;            ///< with another process
};
EalNeeds eal_needs(std::span<const Link> links);

/// One per process; not thread-safe.
class Eal {
public:
    /// Initialises DPDK unless it runs already; takes about 0.1 s. EMFILE or ENFILE (no descriptors) and EAGAIN (no
    /// thread) are returned before DPDK is called, and the call may be repeated. Once DPDK itself has failed, every
    /// later call returns that error.
    Result<void> need(const EalNeeds& needs = {});

private:
    std::optional<Result<void>> outcome_;  ///< of rte_eal_init, which is called once; empty: not called yet
};

}  // namespace verbline::verbs

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// DPDK's environment layer, started so that it runs anywhere: a laptop, a container, a CI machine, a server.
///
/// Lcore 0 is the control thread, lcores 1 to `workers` run shards; all may run on every CPU this process may use, as
/// two busy pollers pinned to the two CPUs of a small machine would starve everything else. EAL arguments, for machines
/// with CPUs to spare, replace the embedded ones (only the file prefix is added, unless given): a shard runs on each
/// lcore that they name, but for the main one.
///
/// Memory: hugepages if enough are free, else ordinary pages. With ordinary pages only what is touched is resident:
/// measured on Debian 12, EAL with all its drivers loaded takes 27 MB.

#include <cstddef>
#include <string>
#include <vector>

#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::cli {

struct EalOptions {
    std::string name;             ///< of the instance (instance.h): valid_instance_name
    unsigned workers = 1;         ///< shards
    std::size_t memory_mb = 512;  ///< the most that pools and tables will take
    std::vector<std::string>
        pci_devices;                     ///< PCI addresses with DPDK's devargs behind; none: the PCI bus is left alone
    std::vector<std::string> arguments;  ///< the user's own; empty: the embedded ones
};

/// What the embedded arguments depend on.
struct Machine {
    std::vector<unsigned> cpus;            ///< those this process may run on
    std::size_t free_hugepage_memory = 0;  ///< bytes
};
Machine this_machine();

/// argv of rte_eal_init.
std::vector<std::string> eal_arguments(const EalOptions& options, const Machine& machine);

/// The running EAL. DPDK cannot be started twice in one process, nor after a failure.
class Eal {
public:
    /// EBUSY if an instance of that name is running; the lock of a killed one is released.
    static Result<Eal> start(const EalOptions& options);
    /// The lcores that poll: all but the control thread's and DPDK's service lcores. EINVAL: the user's own arguments
    /// leave none.
    Result<std::vector<unsigned>> packet_lcores() const;
    Eal(Eal&& other) noexcept = default;
    Eal& operator=(Eal&&) = delete;
    /// After every port is closed and every worker lcore has returned.
    ~Eal();

private:
    explicit Eal(FileDescriptor lock) : lock_(std::move(lock)) {}

    FileDescriptor lock_;  ///< of the instance's name, held until the process ends
};

}  // namespace verbline::cli

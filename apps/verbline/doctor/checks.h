// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Judges facts. Each check is a pure function; what could not be read gives no finding.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/verbline/doctor/facts.h"
#include "apps/verbline/doctor/finding.h"

namespace verbline::doctor {

// check_processor.cc
Findings check_frequency(const Facts& facts);    ///< governor, energy preference, turbo
Findings check_idle_states(const Facts& facts);  ///< C-states
Findings check_clock(const Facts& facts);

// check_isolation.cc
Findings check_isolation(const Facts& facts);  ///< isolcpus, nohz_full, rcu_nocbs, threads of one core

// check_memory.cc
Findings check_hugepages(const Facts& facts);
Findings check_memory_lock(const Facts& facts);

// check_kernel.cc
Findings check_iommu(const Facts& facts);
Findings check_vfio(const Facts& facts);
Findings check_programs(const Facts& facts);  ///< missing tools, the preflight of `verbline run`

// check_pci.cc
Findings check_pci(const Facts& facts, const Port& port);  ///< link, NUMA node, read requests

// check_port.cc
Findings check_driver(const Port& port);      ///< mlx5 or not, and who has it
Findings check_roce(const Port& port);        ///< who gets UDP port 4791
Findings check_interfaces(const Port& port);  ///< link type, carrier, MTU, flow control
/// What a port without complaints is.
std::string description(const Port& port);

/// All checks; the worst findings first.
Findings diagnose(const Facts& facts);

/// An option of the kernel's command line and its value.
using BootOption = std::pair<std::string_view, std::string>;

/// Sets options of the kernel's command line for the next start, by the files that Debian's and Ubuntu's update-grub
/// reads. One that is there already is changed: of two with different CPUs the kernel would not take the second.
std::string boot_with(const Facts& facts, const std::vector<BootOption>& options);

/// CPUs to poll on: one thread of each core on a NUMA node (any: -1), but the first core, which is the kernel's.
CpuSet cpus_to_isolate(const Processor& processor, std::int64_t node);
/// The options that isolate CPUs.
std::vector<BootOption> isolating(const CpuSet& cpus);

/// Whether DPDK has it by one of the kernel's drivers for user space.
bool in_user_space(const Port& port);

}  // namespace verbline::doctor

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What changes figures from one machine, or one start, to the next: recorded beside them.

#include <span>
#include <string>
#include <vector>

#include "apps/verbline/doctor/facts.h"
#include "apps/verbline/doctor/finding.h"
#include "apps/verbline/output/table.h"

namespace verbline::bench {

/// What `verbline doctor` finds on this machine: warnings and errors only.
struct Checkup {
    doctor::Facts facts;
    doctor::Findings findings;

    static Checkup of_this_machine();
    /// One line for the user; empty: there is nothing to say.
    std::string summary() const;
};

/// Versions, kernel, CPU, NUMA nodes, hugepages, the EAL's arguments and lcores, and the findings.
cli::Json machine_facts(const Checkup& checkup, const std::vector<std::string>& eal_arguments,
                        std::span<const unsigned> lcores);

}  // namespace verbline::bench

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Lists of CPUs as the kernel writes and takes them: "0-3,8".

#include <optional>
#include <string>
#include <string_view>

#include "apps/verbline/doctor/facts.h"

namespace verbline::doctor {

constexpr unsigned max_cpus = 8192;  ///< the largest NR_CPUS of Linux

/// `last` is what "N" and "all" of the kernel's command line stand for. None: no such list, or a number that no CPU
/// has.
std::optional<CpuSet> parse_cpu_list(std::string_view text, unsigned last = max_cpus - 1);

/// "0-3,8"
std::string to_string(const CpuSet& cpus);

/// Those of `a` that are not in `b`.
CpuSet without(const CpuSet& a, const CpuSet& b);

}  // namespace verbline::doctor

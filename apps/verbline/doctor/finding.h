// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One row of `verbline doctor`.

#include <string>
#include <string_view>
#include <vector>

namespace verbline::doctor {

enum class Severity { ok, note, warning, error };  ///< in ascending order

std::string_view name(Severity severity);

struct Finding {
    Severity severity = Severity::ok;
    std::string subject;  ///< cpu0-63, 0000:3b:00.0, kernel
    std::string found;    ///< one line
    std::string command;  ///< one line for root's shell that mends it, or shows why; empty: nothing to do
};

using Findings = std::vector<Finding>;

}  // namespace verbline::doctor

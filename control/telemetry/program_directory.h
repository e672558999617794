// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Directory of the telemetry sockets of programs that use our verbs library: `programs` below the run-time directory
/// (pmd/runtime), one socket each, NAME-PID, for `verbline show`.

#include <filesystem>

#include "pmd/runtime/runtime_directory.h"

namespace verbline::telemetry {

inline std::filesystem::path program_directory() {
    return pmd::runtime_directory() / "programs";
}

}  // namespace verbline::telemetry

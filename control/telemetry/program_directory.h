// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Where programs that run on our verbs library are found by `verbline show`: in `programs` below the run-time
/// directory (pmd/runtime), one socket each, NAME-PID.

#include <filesystem>

#include "pmd/runtime/runtime_directory.h"

namespace verbline::telemetry {

inline std::filesystem::path program_directory() {
    return pmd::runtime_directory() / "programs";
}

}  // namespace verbline::telemetry

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Where programs that run on our verbs library are found by `verbline show`: one socket each, NAME-PID.
///
///     /run/verbline/programs/                   root's
///     $XDG_RUNTIME_DIR/verbline/programs/       anyone else's; without XDG_RUNTIME_DIR: /tmp/verbline-UID/programs/

#include <filesystem>

#include "control/hub/directory.h"

namespace verbline::telemetry {

inline std::filesystem::path program_directory() {
    return hub::base_directory() / "programs";
}

}  // namespace verbline::telemetry

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Checks, before a program starts, everything that can be known to fail: every error is one line with what to do.
/// The state may change between the check and the opening of the device; then the program sees no device.
///
/// Nothing is left open. During the check a hub may be joined and a fabric attached to.

#include <filesystem>
#include <string>

#include "apps/libibverbs/settings/settings.h"
#include "pmd/base/error.h"

namespace verbline::verbs {

struct Launch {
    std::filesystem::path program;  ///< found (program_file.h)
    std::filesystem::path library;  ///< libibverbs.so.1
    std::string hub_program;        ///< the program that starts a missing hub: our own
};

/// Checks that the library can be preloaded into the program, and that everything the settings name exists and may be
/// used. Starts hub:default, or the hub of a soft fabric, if it is needed and not running.
Result<void> preflight(const Settings& settings, const Launch& launch);

/// Checks the settings only.
Result<void> check_links(const Settings& settings, const std::string& hub_program);

}  // namespace verbline::verbs

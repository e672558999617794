// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What can be known to fail before a program starts, asked before it starts: every error is one line that says what to
/// do. Things may still change between the question and the device's opening; then the program sees no device.
///
/// Nothing is left behind: what is opened to ask is closed again. A hub may be joined and a fabric attached to
/// meanwhile.

#include <filesystem>
#include <string>

#include "apps/libibverbs/settings/settings.h"
#include "pmd/base/error.h"

namespace verbline::verbs {

struct Launch {
    std::filesystem::path program;  ///< found (program_file.h)
    std::filesystem::path library;  ///< libibverbs.so.1
    std::string hub_program;        ///< what starts a missing hub: our own program
};

/// The program can take the library, and everything that the settings name is there and ours to use. Starts
/// hub:default, or a soft fabric's hub, if it is asked for and does not run.
Result<void> preflight(const Settings& settings, const Launch& launch);

/// The settings alone.
Result<void> check_links(const Settings& settings, const std::string& hub_program);

}  // namespace verbline::verbs

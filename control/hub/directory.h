// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Where a hub is found: one directory each, below the run-time directory (pmd/runtime) of the user who runs it.
///
///     hub/NAME/
///         hub.sock      clients join here
///         lane-N.sock   memif, one per client
///         hub.log       of a hub that was started in the background
///         start.lock    held by whoever starts it

#include <filesystem>
#include <string>
#include <string_view>

#include "pmd/base/error.h"

namespace verbline::hub {

/// Letters, digits, '.', '_' and '-', at most 32, the first a letter or digit: it becomes part of a socket's path.
bool valid_name(std::string_view name);

std::filesystem::path directory(std::string_view name);
std::filesystem::path control_socket(std::string_view name);
std::filesystem::path lane_socket(std::string_view name, unsigned lane);
std::filesystem::path log_file(std::string_view name);

/// Makes the hub's directory for this user alone. EPERM: somebody else could put sockets into it.
Result<void> make_directory(std::string_view name);

}  // namespace verbline::hub

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Where a hub is found: one directory each, of the user who runs it.
///
///     /run/verbline/hub/NAME/                  root's
///     $XDG_RUNTIME_DIR/verbline/hub/NAME/      anyone else's; without XDG_RUNTIME_DIR: /tmp/verbline-UID/hub/NAME/
///         hub.sock      clients join here
///         lane-N.sock   memif, one per client
///         hub.log       of a hub that was started in the background
///         start.lock    held by whoever starts it

#include <filesystem>
#include <string>
#include <string_view>

#include "pmd/error.h"

namespace verbline::hub {

/// Letters, digits, '.', '_' and '-', at most 32, the first a letter or digit: it becomes part of a socket's path.
bool valid_name(std::string_view name);

/// Of all that is shared between processes of this user: hubs, programs.
std::filesystem::path base_directory();
std::filesystem::path directory(std::string_view name);
std::filesystem::path control_socket(std::string_view name);
std::filesystem::path lane_socket(std::string_view name, unsigned lane);
std::filesystem::path log_file(std::string_view name);

/// Makes it and what is above it up to the base directory, for this user alone. One that belongs to somebody else is an
/// error: sockets in it would be theirs.
Result<void> make_own_directory(const std::filesystem::path& path);
Result<void> make_directory(std::string_view name);  ///< the hub's

}  // namespace verbline::hub

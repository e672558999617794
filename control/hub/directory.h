// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Paths of a hub: one directory each, below the run-time directory (pmd/runtime) of the user who runs it.
///
///     hub/NAME/
///         hub.sock      clients join here
///         lane-N.sock   memif, one per client
///         identity      a node's MAC and IP addresses (identity.h)
///         hub.log       output of a hub started in the background
///         start.lock    lock held while starting it

#include <filesystem>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "pmd/base/error.h"

namespace verbline::hub {

/// Letters, digits, '.', '_' and '-', at most 32, the first a letter or digit: it becomes part of a socket's path.
bool valid_name(std::string_view name);

std::filesystem::path directory(std::string_view name);
std::filesystem::path control_socket(std::string_view name);
std::filesystem::path lane_socket(std::string_view name, unsigned lane);
/// Where a client finds the socket: in its user's directory, or else in root's.
std::filesystem::path find_control_socket(std::string_view name);
std::filesystem::path log_file(std::string_view name);

/// Creates the hub's directory, accessible to this user only. EPERM: another user could create sockets in it.
Result<void> make_directory(std::string_view name);

/// Who may connect to a hub besides its own user.
struct Access {
    gid_t group = 0;
    mode_t mode = 0660;
    bool operator==(const Access&) const = default;
};
/// Nobody.
constexpr Access no_access{.group = 0, .mode = 0600};
/// Opens the directories, for passing through only, and the control socket, which exists.
Result<void> open_to(std::string_view name, const Access& access);

}  // namespace verbline::hub

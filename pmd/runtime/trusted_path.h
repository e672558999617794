// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Checks that a path, and the process that serves a Unix socket, belong to a trusted user: root, the process's own
/// user, or one that the user names. Anyone else with write access to a component of a socket's path could put a socket
/// of their own there.
///
///     /run/user/1000/verbline/hub.sock     every component is root's or ours, and not writable by others: trusted
///     /tmp/verbline-1000/hub.sock          /tmp is writable but sticky: trusted if `verbline-1000` is ours or root's
///
/// The owner of the root directory can change everything below it and counts as root. This covers user namespaces
/// in which root is not mapped: there all users but our own appear as the same one. Even so, components in a directory
/// that others may write to must be ours, or root's by user id.
///
/// All calls are system calls on paths and descriptors: callable from any thread, no name service, no DPDK.

#include <filesystem>
#include <optional>
#include <string_view>

#include <sys/types.h>

#include "pmd/base/error.h"

namespace verbline::pmd {

/// Beside root and the effective user of this process.
struct Trust {
    std::optional<uid_t> user = {};
    bool operator==(const Trust&) const = default;
};

/// Checks every component of `path` from the root directory on, following symbolic links: each must be owned by a
/// trusted user, and may be writable by others only if sticky. After success no one else can replace a component, so
/// the path may be used by name. A relative path starts at the working directory.
///
/// EPERM: the message names the first component that is not trusted and ends with `advice`. ENOENT, ENOTDIR, EACCES,
/// ELOOP: as open(2).
Result<void> check_path(const std::filesystem::path& path, std::string_view advice, const Trust& trust = {});

/// Checks that the process at the other end of `socket`, a connected Unix socket, runs as a trusted user (SO_PEERCRED:
/// its user at listen(2)). EPERM: the message names the user and ends with `advice`.
Result<void> check_server(int socket, const std::filesystem::path& path, std::string_view advice,
                          const Trust& trust = {});

}  // namespace verbline::pmd

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Whether a path, and the process that serves a Unix socket, belong to somebody we trust: root, our own user, and
/// whoever the user names. Anyone else who may change a component of a socket's path can put their own socket there.
///
///     /run/user/1000/verbline/hub.sock     every component is root's or ours, and nobody else may write to it: trusted
///     /tmp/verbline-1000/hub.sock          /tmp is writable but sticky: trusted if `verbline-1000` is ours or root's
///
/// Whoever owns the root directory can change everything below it and counts as root. That matters in a user namespace
/// in which root is not mapped: there every user but ourselves appears as the same one. The components in a directory
/// that others may write to must be ours, or visibly root's, nevertheless.
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

/// Every component of `path`, as it is found step by step from the root directory, through symbolic links as well, is
/// owned by a trusted user, and writable by others at most if sticky. What passes cannot be replaced by anyone else
/// afterwards, so that the path may be used by name. A relative path is taken from the working directory.
///
/// EPERM: the first component that is not trusted; `advice` ends the line. ENOENT, ENOTDIR, EACCES, ELOOP: as open(2).
Result<void> check_path(const std::filesystem::path& path, std::string_view advice, const Trust& trust = {});

/// The process at the other end of `socket`, a connected Unix socket, runs as a trusted user (SO_PEERCRED: as of its
/// listen(2)). EPERM: who it is; `advice` ends the line.
Result<void> check_server(int socket, const std::filesystem::path& path, std::string_view advice,
                          const Trust& trust = {});

}  // namespace verbline::pmd

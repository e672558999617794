// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Where the processes of one user find each other.
///
///     /run/verbline                  root's
///     $XDG_RUNTIME_DIR/verbline      anyone else's
///     /tmp/verbline-UID              without XDG_RUNTIME_DIR; used only if it is ours and private

#include <filesystem>
#include <string>
#include <string_view>

#include "pmd/base/error.h"

namespace verbline::pmd {

/// What to do about a run-time directory that cannot be used: ends a line.
inline constexpr std::string_view runtime_advice = "remove it, or set XDG_RUNTIME_DIR to a directory of yours";

std::filesystem::path runtime_directory();

/// A socket that users name: one without a slash lies in the run-time directory.
std::filesystem::path socket_path(std::string_view name);

/// Makes `path`, which is the run-time directory or below it, and what is above it up to there, for this user alone.
/// EPERM: somebody else could put sockets into it.
Result<void> make_runtime_directory(const std::filesystem::path& path);

}  // namespace verbline::pmd

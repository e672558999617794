// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The run-time directory, in which the processes of one user find each other's sockets.
///
///     /run/verbline                  root's
///     $XDG_RUNTIME_DIR/verbline      anyone else's
///     /tmp/verbline-UID              without XDG_RUNTIME_DIR; used only if it is ours and private

#include <filesystem>
#include <string>
#include <string_view>

#include "pmd/base/error.h"

namespace verbline::pmd {

/// Advice for an unusable run-time directory, appended to error messages.
inline constexpr std::string_view runtime_advice = "remove it, or set XDG_RUNTIME_DIR to a directory of yours";

std::filesystem::path runtime_directory();
/// Where root's processes find each other, and other users those of root that serve everyone.
std::filesystem::path root_runtime_directory();

/// Path of a socket named by the user: a name without a slash is in the run-time directory.
std::filesystem::path socket_path(std::string_view name);

/// Creates `path`, the run-time directory or a directory below it, with its parents up to the run-time directory,
/// private to this user. EPERM: another user could create sockets in it.
Result<void> make_runtime_directory(const std::filesystem::path& path);

}  // namespace verbline::pmd

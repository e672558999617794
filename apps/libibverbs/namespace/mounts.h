// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Mounts, and the files and directories they need. Errors name the path.

#include <filesystem>
#include <string>
#include <string_view>

#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::verbs {

/// An error from errno, with `what` in its text.
std::unexpected<Error> system_failure(std::string_view what);

Result<void> write_file(const std::filesystem::path& file, const std::string& text);
Result<void> make_directories(const std::filesystem::path& path);

/// mount(2). `source` and `type` may be null.
Result<void> mount_on(const char* source, const std::filesystem::path& target, const char* type, unsigned long flags,
                      const std::string& data = {});

/// A detached copy of the mounts at and below `path`; invalid on failure, with errno set.
FileDescriptor copy_of_mounts(const std::filesystem::path& path);
/// Attaches a copy made by `copy_of_mounts`.
Result<void> attach(const FileDescriptor& mounts, const std::filesystem::path& at);

}  // namespace verbline::verbs

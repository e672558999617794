// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An empty file that all programs of one user find in a directory where everybody may create files, and nobody else
/// can open: for locks. It is known by its owner and mode, not by its name alone, which another user may take first.
///
///     PREFIXUID              the usual name
///     PREFIXUID-RANDOM       where somebody else has that one
///
/// Whoever finds none makes one; of several who do so at once at most one keeps it, and the others use that.

#include <filesystem>
#include <string>

#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::host {

/// Open for reading and writing, closed by exec. The code is that of the system call that failed; EAGAIN: others make
/// and remove such files faster than we can look.
Result<FileDescriptor> open_own_file(const std::filesystem::path& directory, const std::string& prefix);

}  // namespace verbline::host

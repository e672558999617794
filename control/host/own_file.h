// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An empty file for locks in a world-writable directory, shared by all programs of one user and inaccessible to other
/// users. It is identified by owner and mode, not by name alone, since another user may take the name first.
///
///     PREFIXUID              the usual name
///     PREFIXUID-RANDOM       if another user has taken that name
///
/// It is created if missing; of concurrent creators at most one keeps its file, and the others use that.

#include <filesystem>
#include <string>

#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::host {

/// Opens it for reading and writing, close-on-exec. The error code is that of the failed system call; EAGAIN: others
/// create and remove such files faster than we can open them.
Result<FileDescriptor> open_own_file(const std::filesystem::path& directory, const std::string& prefix);

}  // namespace verbline::host

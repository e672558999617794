// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A path of the library that LD_PRELOAD and LD_LIBRARY_PATH can express.

#include <filesystem>

#include "pmd/base/error.h"

namespace verbline::verbs {

/// `library` itself, or, if its path has characters at which the loader splits these variables or that it expands
/// (ld.so(8): blank, colon, semicolon, dollar; there is no way to quote them), the same file through a symbolic link to
/// its directory that is made in the run-time directory (pmd/runtime) and stays there for the next program. A link
/// and no descriptor, so that it still holds for what a program starts after it has closed everything.
Result<std::filesystem::path> preload_path(const std::filesystem::path& library);

}  // namespace verbline::verbs

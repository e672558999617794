// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "pmd/base/error.h"

namespace verbline::cli {

/// The text of a file that a user wrote. EFBIG: larger than 1 MiB, so hardly written by one.
Result<std::string> read_config_file(const std::string& file);

}  // namespace verbline::cli

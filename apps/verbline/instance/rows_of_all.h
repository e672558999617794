// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One table of everything that runs and has it.

#include <string>

#include "apps/verbline/output/table.h"

namespace verbline::cli {

/// The rows, each with the instance's name in front, as column `program`. What ends meanwhile has none.
Json rows_of_all(const std::string& table);

}  // namespace verbline::cli

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One table, of all running instances and programs that serve it.

#include <string>

#include "apps/verbline/output/table.h"

namespace verbline::cli {

/// The rows, each with the instance's name as its first column, `program`. An instance that ends meanwhile contributes
/// none.
Json rows_of_all(const std::string& table);

}  // namespace verbline::cli

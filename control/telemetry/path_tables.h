// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Rows of the tables `paths` and `path_cache`: the local cache of the subnet administrator's path records.

#include <functional>
#include <string>

#include "control/sa/path_cache.h"
#include "control/telemetry/server.h"
#include "pmd/base/time.h"

namespace verbline::telemetry {

/// Appends a row for each path of the cache whose partition `shows` accepts.
void add_path_rows(Json& rows, const std::string& port, const sa::PathCache& cache, Time now,
                   const std::function<bool(wire::PKey)>& shows);
/// How well the cache does.
Json path_cache_row(const std::string& port, const sa::PathCache& cache);

}  // namespace verbline::telemetry

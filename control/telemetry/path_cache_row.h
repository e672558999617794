// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A port's path cache as one row of the table `path_cache`.

#include <string>

#include <fmt/format.h>

#include "control/sa/path_cache.h"
#include "control/telemetry/server.h"

namespace verbline::telemetry {

inline Json path_cache_row(const std::string& port, const sa::PathCache& cache) {
    const auto& counters = cache.counters();
    const auto hits = counters.hits.value() + counters.stale_hits.value() + counters.negative_hits.value();
    // Requests coalesced into an outstanding query sent none of their own.
    const auto saved = hits + counters.coalesced.value();
    const auto asked = counters.misses.value() + hits;
    return {
        {"port", port},
        {"paths", cache.size()},
        {"lookups", asked},
        {"hits", hits},
        {"coalesced", counters.coalesced.value()},
        {"queries", counters.queries.value()},
        {"timeouts", counters.timeouts.value()},
        {"hit_rate_pct",
         asked == 0 ? "-" : fmt::format("{:.1f}", 100.0 * static_cast<double>(saved) / static_cast<double>(asked))}};
}

}  // namespace verbline::telemetry

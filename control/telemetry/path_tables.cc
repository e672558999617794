// SPDX-License-Identifier: BSD-3-Clause
#include "control/telemetry/path_tables.h"

#include <string_view>

#include <fmt/format.h>

#include "datapath/wire/text.h"

namespace verbline::telemetry {
namespace {

std::string_view text(sa::PathCache::Found found) {
    switch (found) {
        case sa::PathCache::Found::unknown: return "asked";
        case sa::PathCache::Found::fresh: return "fresh";
        case sa::PathCache::Found::doubtful: return "doubtful";
        case sa::PathCache::Found::absent: return "absent";
    }
    return "";
}

}  // namespace

void add_path_rows(Json& rows, const std::string& port, const sa::PathCache& cache, Time now,
                   const std::function<bool(wire::PKey)>& shows) {
    cache.each(now, [&](const sa::PathCache::Shown& shown) {
        if (!shows(shown.key.pkey)) return;
        const auto path = shown.path.value_or(wire::PathRecord{});
        rows.push_back({{"port", port},
                        {"destination", to_string(shown.key.destination)},
                        {"pkey", to_string(shown.key.pkey)},
                        {"state", std::string(text(shown.found))},
                        {"lid", to_string(path.destination_lid)},
                        {"sl", path.service_level},
                        {"mtu", wire::mtu_bytes(path.mtu)},
                        {"rate_gbps", wire::rate_gbps(path.rate)},
                        {"hits", shown.hits},
                        {"misses", shown.misses},
                        {"expires_s", fmt::format("{:.1f}", static_cast<double>(shown.expires - now) / second)}});
    });
}

Json path_cache_row(const std::string& port, const sa::PathCache& cache) {
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

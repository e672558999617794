// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The tables of a running instance. `verbline show` asks for them by name, and the router serves them by name
/// (control/telemetry/server.h): an instance serves all of them.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace verbline::cli {

inline constexpr std::array<std::string_view, 7> tables{"ports",  "neighbours", "paths",   "multicast",
                                                        "routes", "queues",     "counters"};

constexpr bool is_table(std::string_view name) {
    return std::ranges::find(tables, name) != tables.end();
}

inline std::string table_names() {
    std::string names;
    for (const auto table : tables) names += (names.empty() ? "" : ", ") + std::string(table);
    return names;
}

}  // namespace verbline::cli

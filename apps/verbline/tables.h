// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The tables of running instances. `verbline show` asks for them by name, and they are served by name
/// (control/telemetry/server.h): a router serves all but `hub`, a hub serves `hub` and `counters`.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/ranges.h>

namespace verbline::cli {

inline constexpr std::array<std::string_view, 8> tables{"ports",  "neighbours", "paths", "multicast",
                                                        "routes", "queues",     "hub",   "counters"};

constexpr bool is_table(std::string_view name) {
    return std::ranges::find(tables, name) != tables.end();
}

inline std::string table_names() {
    return fmt::format("{}", fmt::join(tables, ", "));
}

}  // namespace verbline::cli

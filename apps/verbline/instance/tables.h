// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The tables of running instances. `verbline show` requests them by name, and they are served by name
/// (control/telemetry/server.h): a router serves all but `hub`, `xrc` and `cm`; a hub or node `hub`, `shards`, `xrc`
/// and `counters`, and of a soft fabric `paths`, `path_cache` and `multicast`; a program that connects by RDMA CM `cm`
/// and `counters`.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/ranges.h>

namespace verbline::cli {

inline constexpr std::array<std::string_view, 14> tables{
    "ports",    "neighbours", "connections", "paths", "path_cache", "multicast", "routes",
    "programs", "queues",     "shards",      "hub",   "xrc",        "cm",        "counters"};

constexpr bool is_table(std::string_view name) {
    return std::ranges::find(tables, name) != tables.end();
}

inline std::string table_names() {
    return fmt::format("{}", fmt::join(tables, ", "));
}

}  // namespace verbline::cli

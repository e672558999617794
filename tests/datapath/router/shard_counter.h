// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "datapath/router/shard.h"

namespace verbline::router {

/// A shard's counter of this name: of one port, or of all ports and the shard together. All ones if there is none, so
/// that no misspelt one is zero.
inline std::uint64_t shard_counter(const Shard& shard, std::string_view wanted,
                                   std::optional<std::string_view> port = std::nullopt) {
    std::optional<std::uint64_t> found;
    shard.counters([&](std::string_view of, std::string_view name, std::uint64_t value, std::string_view) {
        if (name == wanted && (!port || of == *port)) found = found.value_or(0) + value;
    });
    return found.value_or(~std::uint64_t{0});
}

}  // namespace verbline::router

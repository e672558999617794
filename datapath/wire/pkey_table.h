// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A port's P_Key table: the partitions that it is in (IBTA volume 1, 10.9.2).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "datapath/wire/types.h"

namespace verbline::wire {

constexpr PKey default_pkey{0xffff};  ///< of full members of the default partition (IBTA volume 1, 10.9.1.2)

/// Index of the port's P_Key of this partition, that of a full member if it has both; none: the port is not in it.
constexpr std::optional<std::uint16_t> pkey_index(std::span<const PKey> table, PKey pkey) {
    std::optional<std::uint16_t> found;
    for (std::size_t at = 0; at < table.size(); ++at) {
        if (partition(table[at]) != partition(pkey) || partition(table[at]) == 0) continue;
        if (!found || is_full_member(table[at])) found = static_cast<std::uint16_t>(at);
        if (is_full_member(table[at])) break;
    }
    return found;
}

/// The P_Key at that index; `pkey` itself if the port is not in the partition.
constexpr PKey own_pkey(std::span<const PKey> table, PKey pkey) {
    const auto index = pkey_index(table, pkey);
    return index ? table[*index] : pkey;
}

}  // namespace verbline::wire

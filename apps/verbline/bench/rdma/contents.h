// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What messages contain, so that one that did not arrive, or that arrived in the last round, is noticed.

#include <cstddef>
#include <cstdint>
#include <span>

namespace verbline::rdma_bench {

enum class End : std::uint8_t { client, server };

/// Byte `offset` of what `end` sends in a round. The first differs from round to round, and is not zero in the first.
constexpr std::byte content(End end, std::uint32_t round, std::size_t offset) {
    const auto seed = (2 * round + static_cast<std::uint32_t>(end)) * 31 + 1;
    return static_cast<std::byte>(seed + (static_cast<std::uint32_t>(offset) * 2654435761u >> 24));
}

inline void fill(std::span<std::byte> bytes, End end, std::uint32_t round) {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = content(end, round, i);
}

inline bool is_filled(std::span<const std::byte> bytes, End end, std::uint32_t round) {
    for (std::size_t i = 0; i < bytes.size(); ++i)
        if (bytes[i] != content(end, round, i)) return false;
    return true;
}

}  // namespace verbline::rdma_bench

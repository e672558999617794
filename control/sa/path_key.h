// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Key of a path query, and its hash.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "datapath/wire/types.h"

namespace verbline::sa {

struct PathKey {
    wire::Gid source{};  ///< identifies the local port
    wire::Gid destination{};
    wire::PKey pkey{0xffff};
    std::uint8_t service_level = any_service_level;

    static constexpr std::uint8_t any_service_level = 0xff;
    bool operator==(const PathKey&) const = default;
};

struct PathKeyHash {
    std::size_t operator()(const PathKey& key) const noexcept {
        std::uint64_t hash = std::uint64_t{static_cast<std::uint16_t>(key.pkey)} << 8 | key.service_level;
        for (const auto& gid : {key.source, key.destination}) {
            const auto halves = std::bit_cast<std::array<std::uint64_t, 2>>(gid.bytes);
            hash = mix(mix(hash, halves[0]), halves[1]);
        }
        return hash;
    }

private:
    /// Both halves of a 64 by 64 bit product: every input bit reaches the low bits, which tables index by.
    static std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
        constexpr std::uint64_t odd = 0x9e37'79b9'7f4a'7c15;  // 2^64 divided by the golden ratio
        __extension__ using Wide = unsigned __int128;
        const auto product = static_cast<Wide>(hash ^ word ^ odd) * odd;
        return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    }
};

}  // namespace verbline::sa

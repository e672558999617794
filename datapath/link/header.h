// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Prebuilt headers in front of a packet.

#include <array>
#include <cstddef>
#include <cstdint>

#include "datapath/wire/bytes.h"

namespace verbline::link {

/// The bytes in front of a packet: Ethernet alone, or Ethernet, LRH and GRH or IP and UDP, BTH, DETH and IPoIB (86
/// bytes at most).
struct Header {
    static constexpr std::size_t capacity = 88;

    std::array<std::byte, capacity> bytes{};
    std::uint8_t size = 0;

    wire::Bytes view() const { return wire::Bytes(bytes).first(size); }
    /// Appends `n` bytes and returns them for writing. The caller must stay within `capacity`.
    wire::MutableBytes append(std::size_t n) {
        const auto at = wire::MutableBytes(bytes).subspan(size, n);
        size = static_cast<std::uint8_t>(size + n);
        return at;
    }
};

}  // namespace verbline::link

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Selective acknowledgement: an extension between two ends that both announced it when they connected.
///
/// A NAK "PSN sequence error" reports the first missing packet, and nothing about those behind it (IBTA 9.7.5.1.2).
/// Between ends that agreed, it carries a bitmap of the packets that have arrived behind the missing one, so that all
/// gaps of a window are filled in one round trip. It is never sent to other peers.
///
///     +-----+------+---------------------------------------------------+------+
///     | BTH | AETH | map: bit n of byte m = PSN + 1 + 8m + n was kept  | ICRC |
///     +-----+------+---------------------------------------------------+------+
///                    8 .. 128 bytes, a multiple of 8

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "datapath/transport/reorder.h"
#include "datapath/wire/bytes.h"

namespace verbline::transport {

struct SelectiveAck {
    static constexpr std::size_t max_size = ReorderWindow::size / 8;

    std::array<std::byte, max_size> map;  ///< only the first `size` bytes are valid
    std::uint8_t size = 0;

    void set(std::uint32_t distance) {
        const auto needed = static_cast<std::uint8_t>((distance / 64 + 1) * 8);
        for (; size < needed; ++size) map[size] = std::byte{0};
        map[distance / 8] |= static_cast<std::byte>(1u << distance % 8);
    }
    wire::Bytes bytes() const { return wire::Bytes(map).first(size); }

    /// Calls `each(distance)` for every bit that is set, nearest first. Bytes beyond `max_size` are ignored.
    template <class Each>
    static void visit(wire::Bytes map, Each each) {
        const auto bytes = std::min(map.size(), max_size);
        for (std::uint32_t at = 0; at < bytes; ++at) {
            for (unsigned bits = wire::load8(map, at); bits != 0; bits &= bits - 1) {
                each(at * 8 + static_cast<std::uint32_t>(std::countr_zero(bits)));
            }
        }
    }
};

}  // namespace verbline::transport

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// FLUSH Extended Transport Header: placement that previously written data must have reached when the FLUSH is
/// answered. Directly behind the BTH, and followed by a RETH with the range to flush. IBTA volume 1, annex A19.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +---------------------------------------------------+---+-------+
///     |                      reserved                     |SEL|  PLT  |
///     +---------------------------------------------------+---+-------+

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"

namespace verbline::wire {

/// Range of a FLUSH. The other two values of the field are reserved.
enum class FlushSelectivity : std::uint8_t { range = 0, memory_region = 1 };

struct Feth {
    static constexpr std::size_t size = 4;

    /// Bits of `placement`; the other two are reserved.
    static constexpr std::uint8_t global_visibility = 1, persistence = 2;

    FlushSelectivity selectivity{};
    std::uint8_t placement = 0;  ///< 4 bits

    using Layout =
        Fields<Reserved<at(0), 26>, Field<&Feth::selectivity, at(3, 2), 2>, Field<&Feth::placement, at(3, 4), 4>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<Feth> parse(Bytes packet) { return read<Feth>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Feth&) const = default;
};

}  // namespace verbline::wire

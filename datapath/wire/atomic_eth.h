// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Atomic Extended Transport Header, and the one that carries the answer.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +---------------------------------------------------------------+
///     |                    virtual address, 8 bytes                   |
///     +---------------------------------------------------------------+
///     |                             R_Key                             |
///     +---------------------------------------------------------------+
///     |                  swap or add operand, 8 bytes                 |
///     +---------------------------------------------------------------+
///     |                    compare operand, 8 bytes                   |
///     +---------------------------------------------------------------+
///
///     +---------------------------------------------------------------+
///     |                original remote data, 8 bytes                  |   AtomicAckETH
///     +---------------------------------------------------------------+
///
/// IBTA volume 1, 9.3.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

struct AtomicEth {
    static constexpr std::size_t size = 28;

    std::uint64_t address = 0;
    RKey rkey{};
    std::uint64_t swap_or_add = 0;
    std::uint64_t compare = 0;

    using Layout = Fields<Field<&AtomicEth::address, at(0), 64>, Field<&AtomicEth::rkey, at(8), 32>,
                          Field<&AtomicEth::swap_or_add, at(12), 64>, Field<&AtomicEth::compare, at(20), 64>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<AtomicEth> parse(Bytes packet) { return read<AtomicEth>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const AtomicEth&) const = default;
};

struct AtomicAckEth {
    static constexpr std::size_t size = 8;

    std::uint64_t original = 0;

    using Layout = Fields<Field<&AtomicAckEth::original, at(0), 64>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<AtomicAckEth> parse(Bytes packet) { return read<AtomicAckEth>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const AtomicAckEth&) const = default;
};

}  // namespace verbline::wire

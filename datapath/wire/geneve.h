// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Generic Network Virtualization Encapsulation, behind a UDP header.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +---+-----------+-+-+-----------+-------------------------------+
///     |ver| opt. words|O|C|  reserved |            protocol           |
///     +---+-----------+-+-+-----------+---------------+---------------+
///     |           virtual network identifier          |    reserved   |
///     +-----------------------------------------------+---------------+
///     |                            options
///
/// O control packet, C critical options present. RFC 8926, 3.4.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

constexpr std::uint16_t geneve_port = 6081;

struct Geneve {
    static constexpr std::size_t size = 8;  ///< without options

    std::uint8_t option_words = 0;  ///< of 32 bits
    bool control = false;
    bool critical_options = false;
    EtherType protocol{};
    std::uint32_t network = 0;  ///< 24 bits

    using Layout =
        Fields<Constant<at(0), 2, 0, Malformed::version>, Field<&Geneve::option_words, at(0, 2), 6>,
               Field<&Geneve::control, at(1), 1>, Field<&Geneve::critical_options, at(1, 1), 1>, Reserved<at(1, 2), 6>,
               Field<&Geneve::protocol, at(2), 16>, Field<&Geneve::network, at(4), 24>, Reserved<at(7), 8>>;
    static_assert(Layout::tile(size));

    constexpr std::size_t header_size() const { return size + std::size_t{option_words} * 4; }

    static constexpr Parsed<Geneve> parse(Bytes packet) { return read<Geneve>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Geneve&) const = default;
};

}  // namespace verbline::wire

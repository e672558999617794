// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Generic Routing Encapsulation, version 0, behind an IP header (protocol 47).
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +-+-+-+-+-----------------+-----+-------------------------------+
///     |C|0|K|S|     reserved    | ver |            protocol           |
///     +-+-+-+-+-----------------+-----+-------------------------------+
///     |  4 bytes each: checksum and reserved (C), key (K), sequence number (S)
///
/// RFC 2784, RFC 2890. Bit 1, the source route of RFC 1701, is refused.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/ethernet.h"
#include "datapath/wire/header.h"

namespace verbline::wire {

/// What GRE and Geneve carry, beside the EtherTypes: an Ethernet frame.
constexpr EtherType bridged_ethernet{0x6558};

struct Gre {
    static constexpr std::size_t size = 4;  ///< without the optional fields

    bool has_checksum = false;
    bool has_key = false;
    bool has_sequence = false;
    EtherType protocol{};

    using Layout =
        Fields<Field<&Gre::has_checksum, at(0), 1>, Constant<at(0, 1), 1, 0, Malformed::version>,
               Field<&Gre::has_key, at(0, 2), 1>, Field<&Gre::has_sequence, at(0, 3), 1>, Reserved<at(0, 4), 9>,
               Constant<at(1, 5), 3, 0, Malformed::version>, Field<&Gre::protocol, at(2), 16>>;
    static_assert(Layout::tile(size));

    /// With the optional fields.
    constexpr std::size_t header_size() const {
        return size + 4 * (std::size_t{has_checksum} + std::size_t{has_key} + std::size_t{has_sequence});
    }

    static constexpr Parsed<Gre> parse(Bytes packet) { return read<Gre>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Gre&) const = default;
};

}  // namespace verbline::wire

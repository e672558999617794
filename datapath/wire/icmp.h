// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Internet Control Message Protocol.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +---------------+---------------+-------------------------------+
///     |      type     |      code     |            checksum           |
///     +---------------+---------------+-------------------------------+
///     |           identifier          |        sequence number        |   echo, echo reply
///     +-------------------------------+-------------------------------+
///     |             unused            |          next-hop MTU         |   destination unreachable
///     +-------------------------------+-------------------------------+
///
/// RFC 792; next-hop MTU RFC 1191, 4. The checksum covers header and payload; the caller computes it.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

namespace icmp_type {
constexpr std::uint8_t echo_reply = 0, unreachable = 3, redirect = 5, echo = 8, time_exceeded = 11,
                       parameter_problem = 12;
}
/// Codes of icmp_type::unreachable.
namespace icmp_unreachable {
constexpr std::uint8_t net = 0, host = 1, protocol = 2, port = 3, fragmentation_needed = 4, administratively = 13;
}

struct Icmp {
    static constexpr std::size_t size = 8;

    std::uint8_t type = 0;
    std::uint8_t code = 0;
    std::uint16_t checksum = 0;
    std::uint16_t identifier = 0;
    std::uint16_t sequence = 0;  ///< in "fragmentation needed": the next hop's MTU

    using Layout = Fields<Field<&Icmp::type, at(0), 8>, Field<&Icmp::code, at(1), 8>, Field<&Icmp::checksum, at(2), 16>,
                          Field<&Icmp::identifier, at(4), 16>, Field<&Icmp::sequence, at(6), 16>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<Icmp> parse(Bytes packet) { return read<Icmp>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Icmp&) const = default;
};

}  // namespace verbline::wire

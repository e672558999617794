// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// User Datagram Protocol.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +-------------------------------+-------------------------------+
///     |          source port          |        destination port       |
///     +-------------------------------+-------------------------------+
///     |             length            |            checksum           |
///     +-------------------------------+-------------------------------+
///
/// RFC 768. RoCE v2 is UDP to port 4791 (IBTA annex A17).

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

constexpr std::uint16_t roce_v2_port = 4791;

struct Udp {
    static constexpr std::size_t size = 8;

    std::uint16_t source_port = 0;
    std::uint16_t destination_port = 0;
    std::uint16_t length = size;  ///< header and payload, bytes
    std::uint16_t checksum = 0;   ///< 0: no checksum, allowed over IPv4 only

    using Layout = Fields<Field<&Udp::source_port, at(0), 16>, Field<&Udp::destination_port, at(2), 16>,
                          Field<&Udp::length, at(4), 16>, Field<&Udp::checksum, at(6), 16>>;
    static_assert(Layout::tile(size));

    /// `datagram_length` is the length of the whole datagram, of which `datagram` must hold at least the header.
    static constexpr Parsed<Udp> parse(Bytes datagram, std::size_t datagram_length) {
        const auto udp = read<Udp>(datagram);
        if (udp && udp->length < size) return std::unexpected(Malformed::length);
        if (udp && datagram_length < udp->length) return std::unexpected(Malformed::truncated);
        return udp;
    }
    static constexpr Parsed<Udp> parse(Bytes datagram) { return parse(datagram, datagram.size()); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Udp&) const = default;
};

}  // namespace verbline::wire

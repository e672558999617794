// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Internet Protocol, version 4.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +-------+-------+-----------+---+-------------------------------+
///     |   4   |  IHL  |    DSCP   |ECN|          total length         |
///     +-------+-------+-----------+---+-+-+-+-------------------------+
///     |         identification        |0|D|M|     fragment offset     |
///     +---------------+---------------+-+-+-+-------------------------+
///     |  time to live |    protocol   |        header checksum        |
///     +---------------+---------------+-------------------------------+
///     |                         source address                        |
///     +---------------------------------------------------------------+
///     |                      destination address                      |
///     +---------------------------------------------------------------+
///     |                   options: IHL - 5 words of 32 bits           |
///     +---------------------------------------------------------------+
///
/// D do not fragment, M more fragments. RFC 791; DSCP RFC 2474, ECN RFC 3168.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/checksum.h"
#include "datapath/wire/header.h"
#include "datapath/wire/ip.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

struct Ipv4 {
    static constexpr std::size_t size = 20;  ///< without options

    std::uint8_t header_words = 5;  ///< IHL: header with options, in 32-bit words
    std::uint8_t dscp = 0;
    Ecn ecn{};
    std::uint16_t total_length = size;  ///< header and payload, bytes
    std::uint16_t identification = 0;
    bool dont_fragment = false;
    bool more_fragments = false;
    std::uint16_t fragment_offset = 0;  ///< units of 8 bytes
    std::uint8_t time_to_live = 64;
    IpProtocol protocol{};
    std::uint16_t checksum = 0;  ///< of the header; as found, see `checksum_ok`
    Ipv4Address source{};
    Ipv4Address destination{};

    using Layout =
        Fields<Constant<at(0), 4, 4, Malformed::version>, Field<&Ipv4::header_words, at(0, 4), 4>,
               Field<&Ipv4::dscp, at(1), 6>, Field<&Ipv4::ecn, at(1, 6), 2>, Field<&Ipv4::total_length, at(2), 16>,
               Field<&Ipv4::identification, at(4), 16>, Reserved<at(6), 1>, Field<&Ipv4::dont_fragment, at(6, 1), 1>,
               Field<&Ipv4::more_fragments, at(6, 2), 1>, Field<&Ipv4::fragment_offset, at(6, 3), 13>,
               Field<&Ipv4::time_to_live, at(8), 8>, Field<&Ipv4::protocol, at(9), 8>,
               Field<&Ipv4::checksum, at(10), 16>, Field<&Ipv4::source, at(12), 32>,
               Field<&Ipv4::destination, at(16), 32>>;
    static_assert(Layout::tile(size));

    constexpr std::size_t header_size() const { return std::size_t{header_words} * 4; }
    constexpr bool is_fragment() const { return more_fragments || fragment_offset != 0; }

    /// `packet` must hold the header with its options; `packet_length` is the length of the whole packet, which differs
    /// for a chain of buffers. Bytes behind total_length are link padding. The checksum is not checked: often the
    /// device has done so.
    static constexpr Parsed<Ipv4> parse(Bytes packet, std::size_t packet_length) {
        const auto ip = read<Ipv4>(packet);
        if (!ip) return ip;
        if (ip->header_size() < size || ip->total_length < ip->header_size()) return std::unexpected(Malformed::length);
        if (packet.size() < ip->header_size()) return std::unexpected(Malformed::truncated);
        if (packet_length < ip->total_length) return std::unexpected(Malformed::truncated);
        return ip;
    }
    static constexpr Parsed<Ipv4> parse(Bytes packet) { return parse(packet, packet.size()); }

    /// Writes the fixed 20 bytes; the caller writes options, if any, behind them.
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }

    /// True if the checksum over a whole header, options included, verifies.
    static constexpr bool checksum_ok(Bytes header) { return InternetChecksum().add(header).value() == 0; }

    /// The same header with its checksum computed; for headers without options.
    constexpr Ipv4 with_checksum() const {
        Ipv4 result = *this;
        result.checksum = 0;
        std::array<std::byte, size> bytes{};
        result.emit(bytes);
        result.checksum = InternetChecksum().add(bytes).value();
        return result;
    }

    bool operator==(const Ipv4&) const = default;
};

}  // namespace verbline::wire

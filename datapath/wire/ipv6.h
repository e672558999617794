// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Internet Protocol, version 6: the fixed header.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +-------+---------------+---------------------------------------+
///     |   6   | traffic class |               flow label              |
///     +-------+---------------+-------+---------------+---------------+
///     |         payload length        |  next header  |   hop limit   |
///     +-------------------------------+---------------+---------------+
///     |                    source address, 16 bytes                   |
///     +---------------------------------------------------------------+
///     |                  destination address, 16 bytes                |
///     +---------------------------------------------------------------+
///
/// RFC 8200, 3.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/ip.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

struct Ipv6 {
    static constexpr std::size_t size = 40;

    std::uint8_t dscp = 0;
    Ecn ecn{};
    std::uint32_t flow_label = 0;      ///< 20 bits
    std::uint16_t payload_length = 0;  ///< what follows this header, extension headers included, bytes
    IpProtocol next_header{};
    std::uint8_t hop_limit = 64;
    Ipv6Address source{};
    Ipv6Address destination{};

    using Layout = Fields<Constant<at(0), 4, 6, Malformed::version>, Field<&Ipv6::dscp, at(0, 4), 6>,
                          Field<&Ipv6::ecn, at(1, 2), 2>, Field<&Ipv6::flow_label, at(1, 4), 20>,
                          Field<&Ipv6::payload_length, at(4), 16>, Field<&Ipv6::next_header, at(6), 8>,
                          Field<&Ipv6::hop_limit, at(7), 8>, Field<&Ipv6::source, at(8), 128>,
                          Field<&Ipv6::destination, at(24), 128>>;
    static_assert(Layout::tile(size));

    /// `packet_length` is the length of the whole packet, of which `packet` must hold at least the header.
    static constexpr Parsed<Ipv6> parse(Bytes packet, std::size_t packet_length) {
        const auto ip = read<Ipv6>(packet);
        if (ip && packet_length < size + ip->payload_length) return std::unexpected(Malformed::truncated);
        return ip;
    }
    static constexpr Parsed<Ipv6> parse(Bytes packet) { return parse(packet, packet.size()); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Ipv6&) const = default;
};

}  // namespace verbline::wire

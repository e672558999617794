// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Global Route Header: routes a packet between subnets, and carries the addresses of RoCE v1. Same format as an IPv6
/// header.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +-------+---------------+---------------------------------------+
///     |   6   | traffic class |               flow label              |
///     +-------+---------------+-------+---------------+---------------+
///     |         payload length        |  next header  |   hop limit   |
///     +-------------------------------+---------------+---------------+
///     |                      source GID, 16 bytes                     |
///     +---------------------------------------------------------------+
///     |                   destination GID, 16 bytes                   |
///     +---------------------------------------------------------------+
///
/// IBTA volume 1, 8.3. Payload length counts the bytes behind the GRH through the ICRC.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

struct Grh {
    static constexpr std::size_t size = 40;
    static constexpr std::uint8_t transport = 0x1b;  ///< next header: BTH

    std::uint8_t traffic_class = 0;
    std::uint32_t flow_label = 0;  ///< 20 bits
    std::uint16_t payload_length = 0;
    std::uint8_t next_header = transport;
    std::uint8_t hop_limit = 0;
    Gid source{};
    Gid destination{};

    using Layout = Fields<Constant<at(0), 4, 6, Malformed::version>, Field<&Grh::traffic_class, at(0, 4), 8>,
                          Field<&Grh::flow_label, at(1, 4), 20>, Field<&Grh::payload_length, at(4), 16>,
                          Field<&Grh::next_header, at(6), 8>, Field<&Grh::hop_limit, at(7), 8>,
                          Field<&Grh::source, at(8), 128>, Field<&Grh::destination, at(24), 128>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<Grh> parse(Bytes packet) { return read<Grh>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Grh&) const = default;
};

}  // namespace verbline::wire

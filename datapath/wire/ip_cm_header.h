// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// IP CM header: source and destination IP address, at the head of the private data of REQ and SIDR_REQ.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +-------+-------+-------+-------+-------------------------------+
///     |   0   |   0   | IP ver|  res  |          source port          |
///     +-------+-------+-------+-------+-------------------------------+
///     |      source address, 16 bytes: IPv4 in the last four          |
///     +---------------------------------------------------------------+
///     |                 destination address, 16 bytes                 |
///     +---------------------------------------------------------------+
///
/// The destination port is in the service id. IBTA volume 1, annex A11.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

struct IpCmHeader {
    static constexpr std::size_t size = 36;

    std::uint8_t ip_version = 4;  ///< 4 or 6; the caller must reject other values
    std::uint16_t source_port = 0;
    Ipv6Address source{};  ///< IPv4: in the last four bytes, the others zero
    Ipv6Address destination{};

    using Layout = Fields<Constant<at(0), 8, 0, Malformed::version>, Field<&IpCmHeader::ip_version, at(1), 4>,
                          Reserved<at(1, 4), 4>, Field<&IpCmHeader::source_port, at(2), 16>,
                          Field<&IpCmHeader::source, at(4), 128>, Field<&IpCmHeader::destination, at(20), 128>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<IpCmHeader> parse(Bytes private_data) { return read<IpCmHeader>(private_data); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const IpCmHeader&) const = default;
};

}  // namespace verbline::wire

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Multicast Listener Discovery, versions 1 and 2: IGMP for IPv6, as messages of ICMPv6.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +---------------+---------------+-------------------------------+
///     |     type      |       0       |           checksum            |   Mld: queries of both versions, report of
///     +---------------+---------------+-------------------------------+   version 1, done
///     |    max response delay, ms     |           reserved            |
///     +-------------------------------+-------------------------------+
///     |                    group address, 16 bytes                    |
///     +-------+-+-----+---------------+-------------------------------+
///     |  res  |S| QRV |     QQIC      |       number of sources       |   GroupQueryTail (igmp.h): of a query of
///     version 2
///     +-------+-+-----+---------------+-------------------------------+
///
///     +---------------+---------------+-------------------------------+
///     |      143      |   reserved    |           checksum            |   MldReport: version 2, followed by records
///     +---------------+---------------+-------------------------------+
///     |           reserved            |       number of records       |
///     +-------------------------------+-------------------------------+
///
///     +---------------+---------------+-------------------------------+
///     |  record type  |   aux words   |       number of sources       |   MldRecord, then sources
///     +---------------+---------------+-------------------------------+
///     |                    group address, 16 bytes                    |
///     +---------------------------------------------------------------+
///
/// RFC 2710, 3; RFC 3810, 5. Checksums include a pseudo-header; the caller computes them.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/igmp.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

namespace mld_type {
constexpr std::uint8_t query = 130, report_v1 = 131, done = 132, report_v2 = 143;
}

struct Mld {
    static constexpr std::size_t size = 24;
    static constexpr std::size_t query_v2_size = 28;  ///< the shortest query of version 2

    std::uint8_t type = 0;
    std::uint16_t checksum = 0;
    std::uint16_t max_response = 0;  ///< queries: milliseconds, from 32768 on a floating-point code
    Ipv6Address group{};             ///< zero in a general query

    using Layout =
        Fields<Field<&Mld::type, at(0), 8>, Constant<at(1), 8, 0, Malformed::version>, Field<&Mld::checksum, at(2), 16>,
               Field<&Mld::max_response, at(4), 16>, Reserved<at(6), 16>, Field<&Mld::group, at(8), 128>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<Mld> parse(Bytes packet) { return read<Mld>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Mld&) const = default;
};

struct MldReport {
    static constexpr std::size_t size = 8;

    std::uint16_t checksum = 0;
    std::uint16_t records = 0;

    using Layout =
        Fields<Constant<at(0), 8, mld_type::report_v2, Malformed::version>, Reserved<at(1), 8>,
               Field<&MldReport::checksum, at(2), 16>, Reserved<at(4), 16>, Field<&MldReport::records, at(6), 16>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<MldReport> parse(Bytes packet) { return read<MldReport>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const MldReport&) const = default;
};

struct MldRecord {
    static constexpr std::size_t size = 20;

    GroupRecordType type{};
    std::uint8_t auxiliary_words = 0;  ///< 32 bits each, behind the sources
    std::uint16_t sources = 0;
    Ipv6Address group{};

    using Layout = Fields<Field<&MldRecord::type, at(0), 8>, Field<&MldRecord::auxiliary_words, at(1), 8>,
                          Field<&MldRecord::sources, at(2), 16>, Field<&MldRecord::group, at(4), 128>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<MldRecord> parse(Bytes packet) { return read<MldRecord>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const MldRecord&) const = default;
};

}  // namespace verbline::wire

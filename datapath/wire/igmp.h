// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Internet Group Management Protocol, versions 2 and 3: IPv4 multicast membership on a link.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +---------------+---------------+-------------------------------+
///     |     type      | max response  |           checksum            |   Igmp: queries of all versions, reports of 1
///     +---------------+---------------+-------------------------------+   and 2, leave
///     |                         group address                         |
///     +-------+-+-----+---------------+-------------------------------+
///     |  res  |S| QRV |     QQIC      |       number of sources       |   GroupQueryTail: of a query of version 3
///     +-------+-+-----+---------------+-------------------------------+
///
///     +---------------+---------------+-------------------------------+
///     |     0x22      |   reserved    |           checksum            |   IgmpReport: version 3, followed by records
///     +---------------+---------------+-------------------------------+
///     |           reserved            |       number of records       |
///     +-------------------------------+-------------------------------+
///
///     +---------------+---------------+-------------------------------+
///     |  record type  |   aux words   |       number of sources       |   IgmpRecord, then sources
///     +---------------+---------------+-------------------------------+
///     |                         group address                         |
///     +---------------------------------------------------------------+
///
/// RFC 2236, 2; RFC 3376, 4. Checksums cover the whole message; the caller computes them.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

namespace igmp_type {
constexpr std::uint8_t query = 0x11, report_v1 = 0x12, report_v2 = 0x16, leave = 0x17, report_v3 = 0x22;
}

/// Type of a group record in a report, here and in MLD (RFC 3376, 4.2.12).
enum class GroupRecordType : std::uint8_t {
    mode_is_include = 1,
    mode_is_exclude = 2,
    change_to_include = 3,
    change_to_exclude = 4,
    allow_new_sources = 5,
    block_old_sources = 6,
};

struct Igmp {
    static constexpr std::size_t size = 8;
    static constexpr std::size_t query_v3_size = 12;  ///< the shortest query of version 3

    std::uint8_t type = 0;
    std::uint8_t max_response = 0;  ///< queries: tenths of a second, from 128 on a floating-point code
    std::uint16_t checksum = 0;
    Ipv4Address group{};  ///< zero in a general query

    using Layout = Fields<Field<&Igmp::type, at(0), 8>, Field<&Igmp::max_response, at(1), 8>,
                          Field<&Igmp::checksum, at(2), 16>, Field<&Igmp::group, at(4), 32>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<Igmp> parse(Bytes packet) { return read<Igmp>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Igmp&) const = default;
};

/// What follows a group in a query of IGMPv3, and in one of MLDv2: the querier's variables and the number of sources,
/// which follow (RFC 3376, 4.1.5 to 4.1.8).
struct GroupQueryTail {
    static constexpr std::size_t size = 4;

    bool suppress = false;        ///< S: routers need not update their timers by this query
    std::uint8_t robustness = 0;  ///< QRV, 3 bits; 0: more than fits
    std::uint8_t interval = 0;    ///< QQIC: seconds, from 128 on a floating-point code
    std::uint16_t sources = 0;

    using Layout = Fields<Reserved<at(0), 4>, Field<&GroupQueryTail::suppress, at(0, 4), 1>,
                          Field<&GroupQueryTail::robustness, at(0, 5), 3>, Field<&GroupQueryTail::interval, at(1), 8>,
                          Field<&GroupQueryTail::sources, at(2), 16>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<GroupQueryTail> parse(Bytes packet) { return read<GroupQueryTail>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const GroupQueryTail&) const = default;
};

struct IgmpReport {
    static constexpr std::size_t size = 8;

    std::uint16_t checksum = 0;
    std::uint16_t records = 0;

    using Layout =
        Fields<Constant<at(0), 8, igmp_type::report_v3, Malformed::version>, Reserved<at(1), 8>,
               Field<&IgmpReport::checksum, at(2), 16>, Reserved<at(4), 16>, Field<&IgmpReport::records, at(6), 16>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<IgmpReport> parse(Bytes packet) { return read<IgmpReport>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const IgmpReport&) const = default;
};

struct IgmpRecord {
    static constexpr std::size_t size = 8;

    GroupRecordType type{};
    std::uint8_t auxiliary_words = 0;  ///< 32 bits each, behind the sources
    std::uint16_t sources = 0;
    Ipv4Address group{};

    using Layout = Fields<Field<&IgmpRecord::type, at(0), 8>, Field<&IgmpRecord::auxiliary_words, at(1), 8>,
                          Field<&IgmpRecord::sources, at(2), 16>, Field<&IgmpRecord::group, at(4), 32>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<IgmpRecord> parse(Bytes packet) { return read<IgmpRecord>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const IgmpRecord&) const = default;
};

}  // namespace verbline::wire

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The headers of an SA MAD behind the common header: RMPP and SA header; 200 bytes of attribute data follow at byte
/// 56.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +---------------+---------------+---------+-----+---------------+
///     |  RMPP version |   RMPP type   |resp time|flags|  RMPP status  |   Rmpp, at 24
///     +---------------+---------------+---------+-----+---------------+
///     |                segment number, or version list                |
///     +---------------------------------------------------------------+
///     |               payload length, or new window last              |
///     +---------------------------------------------------------------+
///     |                        SM_Key, 8 bytes                        |   SaHeader, at 36
///     +-------------------------------+-------------------------------+
///     |        attribute offset       |            reserved           |
///     +-------------------------------+-------------------------------+
///     |                    component mask, 8 bytes                    |
///     +---------------------------------------------------------------+
///
/// IBTA volume 1, 13.6.2 (RMPP), 15.2.1.1 (SA). A component mask selects the fields of a record that a request
/// specifies; bit 0 is the first field. The constants are in each record's header (15.2.5).

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/mad.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

constexpr std::uint8_t sa_class_version = 2;
constexpr std::size_t rmpp_offset = 24, sa_header_offset = 36, sa_data_offset = 56, sa_data_size = 200;

using ComponentMask = std::uint64_t;
constexpr ComponentMask component(unsigned bit) {
    return ComponentMask{1} << bit;
}

enum class SaAttribute : std::uint16_t {
    class_port_info = 0x0001,
    notice = 0x0002,
    inform_info = 0x0003,
    node_record = 0x0011,
    port_info_record = 0x0012,
    guid_info_record = 0x0030,
    service_record = 0x0031,
    pkey_table_record = 0x0033,
    path_record = 0x0035,
    mcmember_record = 0x0038,
    multi_path_record = 0x003a,
    inform_info_record = 0x00f3,
};

/// Class-specific MAD status of the SA (13.4.7, 15.2).
enum class SaStatus : std::uint16_t {
    ok = 0,
    busy = 0x0001,
    unsupported_method = 0x0008,
    unsupported_method_attribute = 0x000c,
    no_resources = 0x0100,
    invalid_request = 0x0200,
    no_records = 0x0300,
    too_many_records = 0x0400,
    invalid_gid = 0x0500,
    insufficient_components = 0x0600,
    denied = 0x0700,
    priority_suggested = 0x0800,
};

/// Selector of an MTU, rate or packet lifetime in a query (15.2.5.16).
enum class Selector : std::uint8_t { greater = 0, less = 1, exactly = 2, largest = 3 };

/// MTU code in records and PortInfo: 1 is 256 bytes, 5 is 4096.
enum class IbMtu : std::uint8_t { bytes_256 = 1, bytes_512, bytes_1024, bytes_2048, bytes_4096 };
/// MTU in bytes; 0 for undefined codes.
constexpr unsigned mtu_bytes(IbMtu mtu) {
    const auto code = static_cast<unsigned>(mtu);
    return code >= 1 && code <= 5 ? 128u << code : 0;
}

/// Rate in Gb/s from the code of records (IBTA volume 1, 15.2.5.16); 0 for reserved ones.
constexpr double rate_gbps(std::uint8_t code) {
    constexpr std::array<double, 23> rates{0,  0,   2.5, 10, 30,  5,   20,  40, 60, 80,  120, 14,
                                           56, 112, 168, 25, 100, 200, 300, 28, 50, 400, 600};
    return code < rates.size() ? rates[code] : 0;
}

enum class RmppType : std::uint8_t { none = 0, data = 1, ack = 2, stop = 3, abort = 4 };
namespace rmpp_flag {
constexpr std::uint8_t active = 1, first = 2, last = 4;
}

struct Rmpp {
    static constexpr std::size_t size = 12;

    std::uint8_t version = 0;  ///< 1 if RMPP is in use
    RmppType type{};
    std::uint8_t response_time = 0x1f;  ///< 5 bits; all ones: not specified
    std::uint8_t flags = 0;             ///< rmpp_flag
    std::uint8_t status = 0;
    std::uint32_t segment = 0;
    std::uint32_t length = 0;  ///< DATA: payload of the transfer (first, last segment); ACK: new window last

    using Layout =
        Fields<Field<&Rmpp::version, at(0), 8>, Field<&Rmpp::type, at(1), 8>, Field<&Rmpp::response_time, at(2), 5>,
               Field<&Rmpp::flags, at(2, 5), 3>, Field<&Rmpp::status, at(3), 8>, Field<&Rmpp::segment, at(4), 32>,
               Field<&Rmpp::length, at(8), 32>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<Rmpp> parse(Bytes packet) { return read<Rmpp>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Rmpp&) const = default;
};

struct SaHeader {
    static constexpr std::size_t size = 20;

    std::uint64_t sm_key = 0;
    std::uint16_t attribute_words = 0;  ///< distance between records of a table response, units of 8 bytes
    ComponentMask components = 0;

    using Layout = Fields<Field<&SaHeader::sm_key, at(0), 64>, Field<&SaHeader::attribute_words, at(8), 16>,
                          Reserved<at(10), 16>, Field<&SaHeader::components, at(12), 64>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<SaHeader> parse(Bytes packet) { return read<SaHeader>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const SaHeader&) const = default;
};

}  // namespace verbline::wire

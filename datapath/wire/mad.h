// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Management datagram of 256 bytes: the common header of 24 bytes.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +---------------+---------------+---------------+-+-------------+
///     | base version 1|     class     | class version |R|   method    |
///     +---------------+---------------+---------------+-+-------------+
///     |             status            |         class-specific        |
///     +-------------------------------+-------------------------------+
///     |                    transaction id, 8 bytes                    |
///     +-------------------------------+-------------------------------+
///     |          attribute id         |            reserved           |
///     +-------------------------------+-------------------------------+
///     |                       attribute modifier                      |
///     +---------------------------------------------------------------+
///
/// R response. IBTA volume 1, 13.4.3. The upper 32 bits of a transaction id belong to the layer that routes the MAD
/// (the kernel, ibsim).

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

constexpr std::size_t mad_size = 256;

enum class MadClass : std::uint8_t {
    subnet_lid_routed = 0x01,
    subnet_administration = 0x03,
    performance = 0x04,
    communication = 0x07,
    subnet_directed_route = 0x81,
};

/// The method with its response bit (13.4.5).
enum class MadMethod : std::uint8_t {
    get = 0x01,
    set = 0x02,
    send = 0x03,
    trap = 0x05,
    report = 0x06,
    trap_repress = 0x07,
    get_table = 0x12,
    get_trace_table = 0x13,
    get_multi = 0x14,
    remove = 0x15,  ///< DELETE of the SA
    get_response = 0x81,
    report_response = 0x86,
    get_table_response = 0x92,
    get_multi_response = 0x94,
    remove_response = 0x95,
};
constexpr bool is_response(MadMethod method) {
    return (static_cast<std::uint8_t>(method) & 0x80) != 0;
}

enum class AttributeId : std::uint16_t {
    class_port_info = 0x0001,
    notice = 0x0002,
    inform_info = 0x0003,
    node_description = 0x0010,
    node_info = 0x0011,
    port_info = 0x0015,
    pkey_table = 0x0016,
    sm_info = 0x0020,
};

/// Status common to all classes, the low byte (13.4.7); the high byte is class-specific, see sa.h.
enum class MadStatus : std::uint16_t {
    ok = 0,
    busy = 0x0001,
    redirect = 0x0002,
    bad_version = 0x0004,
    unsupported_method = 0x0008,
    unsupported_method_attribute = 0x000c,
    invalid_value = 0x001c,
};

struct Mad {
    static constexpr std::size_t size = 24;

    MadClass management_class{};
    std::uint8_t class_version = 1;
    MadMethod method{};
    std::uint16_t status = 0;
    std::uint16_t class_specific = 0;  ///< directed-route SMPs: hop pointer and count
    std::uint64_t transaction = 0;
    std::uint16_t attribute = 0;  ///< AttributeId or SaAttribute
    std::uint32_t modifier = 0;

    using Layout =
        Fields<Constant<at(0), 8, 1, Malformed::version>, Field<&Mad::management_class, at(1), 8>,
               Field<&Mad::class_version, at(2), 8>, Field<&Mad::method, at(3), 8>, Field<&Mad::status, at(4), 16>,
               Field<&Mad::class_specific, at(6), 16>, Field<&Mad::transaction, at(8), 64>,
               Field<&Mad::attribute, at(16), 16>, Reserved<at(18), 16>, Field<&Mad::modifier, at(20), 32>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<Mad> parse(Bytes packet) { return read<Mad>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Mad&) const = default;
};

/// The first two bytes of a MAD, enough to dispatch it by management class.
struct MadPrefix {
    static constexpr std::size_t size = 2;

    MadClass management_class{};

    using Layout = Fields<Constant<at(0), 8, 1, Malformed::version>, Field<&MadPrefix::management_class, at(1), 8>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<MadPrefix> parse(Bytes packet) { return read<MadPrefix>(packet); }
    bool operator==(const MadPrefix&) const = default;
};

/// Where the 64 bytes of attribute data begin in an SMP, LID-routed or directed (14.2.1).
constexpr std::size_t smp_data_offset = 64, smp_data_size = 64;

}  // namespace verbline::wire

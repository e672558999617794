// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Ethernet II header and the 802.1Q tag that may follow it.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +---------------------------------------------------------------+
///     |                        destination MAC                        |
///     |                               +-------------------------------+
///     |                               |                               |
///     +-------------------------------+           source MAC          |
///     |                                                               |
///     +-------------------------------+-------------------------------+
///     |           EtherType           |
///     +-----+-+-----------------------+-------------------------------+
///     | PCP |D|        VLAN id        |           EtherType           |   802.1Q, if the first EtherType is 0x8100
///     +-----+-+-----------------------+-------------------------------+
///
/// IEEE 802.3 3.2, IEEE 802.1Q 9.6.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

namespace ether_type {
constexpr EtherType ipv4{0x0800}, arp{0x0806}, vlan{0x8100}, ipv6{0x86dd};
constexpr EtherType roce_v1{0x8915};  ///< GRH, BTH, ... (IBTA annex A16)
constexpr EtherType soft_ib{0x88b5};  ///< a whole InfiniBand packet from LRH to VCRC: IEEE 802 local experimental 1
}  // namespace ether_type

struct Ethernet {
    static constexpr std::size_t size = 14;

    MacAddress destination{};
    MacAddress source{};
    EtherType type{};

    using Layout = Fields<Field<&Ethernet::destination, at(0), 48>, Field<&Ethernet::source, at(6), 48>,
                          Field<&Ethernet::type, at(12), 16>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<Ethernet> parse(Bytes packet) { return read<Ethernet>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Ethernet&) const = default;
};

/// 802.1Q tag, behind EtherType 0x8100: VLAN id, and the EtherType of the payload.
struct Vlan {
    static constexpr std::size_t size = 4;

    std::uint8_t priority = 0;
    bool drop_eligible = false;
    std::uint16_t id = 0;  ///< 12 bits
    EtherType type{};      ///< of the payload

    using Layout = Fields<Field<&Vlan::priority, at(0), 3>, Field<&Vlan::drop_eligible, at(0, 3), 1>,
                          Field<&Vlan::id, at(0, 4), 12>, Field<&Vlan::type, at(2), 16>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<Vlan> parse(Bytes packet) { return read<Vlan>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Vlan&) const = default;
};

}  // namespace verbline::wire

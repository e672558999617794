// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// ARP for IPv4, over Ethernet (hardware type 1, 6-byte addresses) and over InfiniBand (type 32, 20-byte addresses).
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +-------------------------------+-------------------------------+
///     |         hardware type         |     protocol type, 0x0800     |
///     +---------------+---------------+-------------------------------+
///     |address length |       4       |           operation           |
///     +---------------+---------------+-------------------------------+
///     |          sender link-layer address: 6 or 20 bytes             |
///     +---------------------------------------------------------------+
///     |                      sender IPv4 address                      |
///     +---------------------------------------------------------------+
///     |          target link-layer address: 6 or 20 bytes             |
///     +---------------------------------------------------------------+
///     |                      target IPv4 address                      |
///     +---------------------------------------------------------------+
///
/// RFC 826; RFC 4391, 9.1.2 for InfiniBand. `parse` returns `Malformed::version` for ARP of another hardware or
/// protocol type than `Arp<Address>`, `Malformed::length` for address lengths that contradict the types.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

enum class ArpOperation : std::uint16_t { request = 1, reply = 2 };

template <class LinkAddress>
constexpr std::uint16_t arp_hardware_type = 0;
template <>
inline constexpr std::uint16_t arp_hardware_type<MacAddress> = 1;
template <>
inline constexpr std::uint16_t arp_hardware_type<IpoibAddress> = 32;

template <class LinkAddress>
constexpr std::size_t link_address_size = 0;
template <>
inline constexpr std::size_t link_address_size<MacAddress> = 6;
template <>
inline constexpr std::size_t link_address_size<IpoibAddress> = IpoibAddress::size;

/// LinkAddress: MacAddress or IpoibAddress.
template <class LinkAddress>
struct Arp {
    static constexpr std::size_t link_size = link_address_size<LinkAddress>;
    static constexpr std::size_t size = 16 + 2 * link_size;

    ArpOperation operation{};
    LinkAddress sender_link{};
    Ipv4Address sender{};
    LinkAddress target_link{};
    Ipv4Address target{};

    using Layout =
        Fields<Constant<at(0), 16, arp_hardware_type<LinkAddress>, Malformed::version>,
               Constant<at(2), 16, 0x0800, Malformed::version>, Constant<at(4), 8, link_size, Malformed::length>,
               Constant<at(5), 8, 4, Malformed::length>, Field<&Arp::operation, at(6), 16>,
               Field<&Arp::sender_link, at(8), 8 * link_size>, Field<&Arp::sender, at(8 + link_size), 32>,
               Field<&Arp::target_link, at(12 + link_size), 8 * link_size>,
               Field<&Arp::target, at(12 + 2 * link_size), 32>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<Arp> parse(Bytes packet) { return read<Arp>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Arp&) const = default;
};

using EthernetArp = Arp<MacAddress>;
using IpoibArp = Arp<IpoibAddress>;

}  // namespace verbline::wire

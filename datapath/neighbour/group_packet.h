// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What carries IGMP and MLD: IP packets with the router alert, which do not leave their link. Shared by the codecs of
/// hosts (group_message.h) and of routers (membership_message.h). Addresses are GIDs, those of IPv4 mapped.

#include <cstddef>
#include <optional>
#include <vector>

#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"
#include "pmd/base/time.h"

namespace verbline::neighbour {

/// A packet to send behind an Ethernet header.
struct GroupPacket {
    wire::MacAddress destination{};
    wire::EtherType type{};
    std::vector<std::byte> bytes;  ///< from the IP header on
};

/// Puts an IGMP message into a packet of its own, and computes its checksum.
GroupPacket igmp_packet(std::vector<std::byte> message, wire::Ipv4Address to, wire::Ipv4Address from);
/// The same for MLD.
GroupPacket mld_packet(std::vector<std::byte> message, const wire::Ipv6Address& to, const wire::Ipv6Address& from);

/// An IGMP or MLD message, and where its packet came from and went to.
struct GroupPayload {
    bool ipv4 = false;
    wire::Gid source{}, destination{};
    wire::Bytes message;
};
/// `nullopt` for another protocol, and for what must be ignored: a wrong checksum, or a TTL or hop limit by which the
/// packet may come from another link; MLD without the alert (RFC 3810, 6.2).
std::optional<GroupPayload> open_group_packet(wire::Bytes ip_packet);

/// A time field, in its unit: beyond half of the field a mantissa and an exponent (RFC 3376, 4.1.1; RFC 3810, 5.1.3).
constexpr Time decoded_time(unsigned code, unsigned mantissa_bits) {
    const unsigned linear = 8u << mantissa_bits;
    if (code < linear) return code;
    const unsigned mantissa = code & ((1u << mantissa_bits) - 1), exponent = code >> mantissa_bits & 7;
    return Time{mantissa | 1u << mantissa_bits} << (exponent + 3);
}
/// Bits of the mantissa in IGMP's fields and in MLD's query interval, and in MLD's maximum response delay.
constexpr unsigned short_time = 4, long_time = 12;

/// ff02::`last`.
constexpr wire::Ipv6Address link_scope_group(std::uint8_t last) {
    wire::Ipv6Address address;
    address.bytes[0] = std::byte{0xff};
    address.bytes[1] = std::byte{0x02};
    address.bytes[15] = std::byte{last};
    return address;
}

/// Where the messages go (RFC 2236, 9; RFC 3376, 4.2.14; RFC 2710, 8; RFC 3810, 5.2.14).
constexpr auto all_systems = wire::ipv4(224, 0, 0, 1), all_ipv4_routers = wire::ipv4(224, 0, 0, 2),
               all_igmp_routers = wire::ipv4(224, 0, 0, 22);
constexpr auto all_ipv6_nodes = link_scope_group(1), all_ipv6_routers = link_scope_group(2),
               all_mld_routers = link_scope_group(0x16);

}  // namespace verbline::neighbour

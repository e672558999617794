// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A router's processing of every IPv4 packet: checks on arrival (RFC 1812, 5.2.2 and 5.3.7), TTL decrement on
/// departure. Pure functions of the packet.

#include <array>
#include <cstdint>
#include <optional>

#include <rte_mbuf.h>

#include "datapath/offload/checksum.h"
#include "datapath/offload/packet.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/types.h"
#include "pmd/base/counter.h"
#include "pmd/rx_checksum.h"

namespace verbline::forward {

#define VERBLINE_IPV4_DISCARDS(X)                                                                                   \
    X(rx_dropped_ip_version, "packets that are not IPv4")                                                           \
    X(rx_dropped_ip_header, "packets whose header is shorter than 20 bytes, or longer than the packet")             \
    X(rx_dropped_ip_truncated, "packets that end before their total length")                                        \
    X(rx_dropped_ip_checksum, "packets whose header checksum does not verify")                                      \
    X(rx_dropped_martian_source, "packets from an address that is no host's: zero, loopback, multicast, broadcast") \
    X(rx_dropped_martian_destination, "packets to network zero or loopback")

VERBLINE_COUNTER_ENUM(Ipv4Discard, VERBLINE_IPV4_DISCARDS)

/// Whether no packet may have this source address, and none may be sent to it in reply: network 0, loopback, multicast
/// or broadcast. Also true for 0.0.0.0, which a caller may accept (DHCP).
constexpr bool is_martian_source(wire::Ipv4Address address) {
    const auto bits = static_cast<std::uint32_t>(address);
    return bits >> 24 == 0 || bits >> 24 == 127 || wire::is_multicast(address) || bits == 0xffff'ffff;
}

/// Checks a received packet, which begins at its IP header; returns the reason to drop it, or none. Trims link padding
/// behind the packet. A header checksum that the device has verified, or that is still to be computed, is not verified.
std::optional<Ipv4Discard> check_ipv4(rte_mbuf& packet);

/// Whether the device has verified the header's checksum, or it is still to be computed.
inline bool needs_no_verification(const rte_mbuf& packet) {
    return (packet.ol_flags & RTE_MBUF_F_TX_IP_CKSUM) != 0 || pmd::ip_checksum_verified(packet);
}

/// First octets of addresses that are not simply a host's: network 0, loopback, multicast, and that of broadcast.
constexpr auto special_octets = [] {
    std::array<std::uint8_t, 256> special{};
    special[0] = special[127] = special[255] = 1;
    for (unsigned octet = 224; octet < 240; ++octet) special[octet] = 1;
    return special;
}();

/// True for most packets: those without options and padding, from host to host, whose checksum is right. Then
/// check_ipv4 has nothing against the packet and nothing to trim; if false, ask that. Takes a quarter of its time.
/// `at`: bytes of a link's header in front.
inline bool is_plain_ipv4(const rte_mbuf& packet, std::size_t at = 0) {
    if (packet.data_len < at + wire::Ipv4::size) return false;
    const auto header = offload::checked_header<wire::Ipv4>(packet, at).bytes();
    constexpr std::uint8_t version_and_size = 4 << 4 | wire::Ipv4::size / 4;
    return wire::load8(header, 0) == version_and_size && at + wire::load16(header, 2) == packet.pkt_len &&
           (special_octets[wire::load8(header, 12)] | special_octets[wire::load8(header, 16)]) == 0 &&
           (needs_no_verification(packet) || offload::plain_header_verifies(header));
}

/// Decrements the TTL, which must be at least one, and updates the header checksum: RFC 1624, for a change of the
/// word's upper octet by one. TTL, protocol and checksum are one word, which is read and written once. `at`: where the
/// IP header begins.
inline void decrement_ttl(rte_mbuf& packet, std::size_t at = 0) {
    const auto bytes = offload::checked_header<wire::Ipv4>(packet, at).bytes().subspan<8, 4>();
    const auto word = wire::load32(bytes, 0);
    const auto checksum = (word & 0xffff) + 0x100;
    const auto updated = static_cast<std::uint16_t>(checksum + (checksum >= 0xffff ? 1 : 0));
    wire::store32(bytes, 0, (word & 0xffff'0000) - 0x0100'0000 + updated);
}

}  // namespace verbline::forward

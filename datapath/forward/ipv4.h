// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A router's processing of every IPv4 packet: checks on arrival (RFC 1812, 5.2.2 and 5.3.7), TTL decrement on
/// departure. Pure functions of the packet.

#include <array>
#include <cstdint>
#include <optional>

#include "datapath/wire/types.h"
#include "pmd/base/counter.h"

struct rte_mbuf;

namespace verbline::forward {

#define VERBLINE_IPV4_DISCARDS(X)                                                                                      \
    X(rx_dropped_ip_version, "packets that are not IPv4")                                                              \
    X(rx_dropped_ip_header, "packets whose header is shorter than 20 bytes, or longer than the packet")                \
    X(rx_dropped_ip_truncated, "packets that end before their total length")                                           \
    X(rx_dropped_ip_checksum, "packets whose header checksum does not verify")                                         \
    X(rx_dropped_martian_source, "packets from an address that nobody can have: zero, loopback, multicast, broadcast") \
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

/// Decrements the TTL, which must be at least one, and updates the header checksum (RFC 1624).
void decrement_ttl(rte_mbuf& packet);

}  // namespace verbline::forward

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a router does to every IPv4 packet: checks it on arrival (RFC 1812, 5.2.2 and 5.3.7), lowers its TTL on the way
/// out. Functions of the packet only.

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

/// No packet comes from such an address, and none is sent to it in reply. 0.0.0.0 is for the caller to judge.
constexpr bool is_martian_source(wire::Ipv4Address address) {
    const auto bits = static_cast<std::uint32_t>(address);
    return bits >> 24 == 0 || bits >> 24 == 127 || wire::is_multicast(address) || bits == 0xffff'ffff;
}

/// Why a received packet, which begins at its IP header, must go no further; nothing if it is in order. Link padding
/// behind the packet is cut off. A header checksum that the device has verified, or will write, is not verified again.
std::optional<Ipv4Discard> check_ipv4(rte_mbuf& packet);

/// Takes one from the TTL of a packet whose TTL is at least one, and keeps the header checksum right (RFC 1624).
void decrement_ttl(rte_mbuf& packet);

}  // namespace verbline::forward

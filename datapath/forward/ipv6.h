// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A router's processing of every IPv6 packet: checks on arrival (RFC 8200, 3; RFC 4291, 2), hop limit on departure.
/// Pure functions of the packet. Extension headers are none of a router's business (RFC 8200, 4).

#include <cstdint>
#include <optional>

#include "datapath/wire/types.h"
#include "pmd/base/counter.h"

struct rte_mbuf;

namespace verbline::forward {

#define VERBLINE_IPV6_DISCARDS(X)                                                                         \
    X(rx_dropped_ipv6_version, "packets that are not IPv6, of links that said so")                        \
    X(rx_dropped_ipv6_header, "IPv6 packets shorter than their header")                                   \
    X(rx_dropped_ipv6_truncated, "IPv6 packets that end before their payload length")                     \
    X(rx_dropped_ipv6_martian_source,                                                                     \
      "IPv6 packets from an address that nobody can have: unspecified, loopback, multicast, mapped IPv4") \
    X(rx_dropped_ipv6_martian_destination,                                                                \
      "IPv6 packets to an address that no link carries: unspecified, loopback, mapped IPv4, a group of one interface")

VERBLINE_COUNTER_ENUM(Ipv6Discard, VERBLINE_IPV6_DISCARDS)

/// Whether no packet may have this source address, and none may be sent to it in reply (RFC 4291, 2.5.2, 2.5.3 and
/// 2.7). Also true for ::, which a host may use towards a group (RFC 4862, 5.4.2).
bool is_martian_source(const wire::Ipv6Address& address);

/// Checks a received packet, which begins at its IPv6 header; returns the reason to drop it, or none. Trims link
/// padding behind the packet.
std::optional<Ipv6Discard> check_ipv6(rte_mbuf& packet);

/// Whether the packet is a neighbour solicitation or advertisement without extension headers, as RFC 4861 has them.
bool is_neighbour_discovery(const rte_mbuf& packet);

/// Decrements the hop limit, which must be at least one. No checksum covers it.
void decrement_hop_limit(rte_mbuf& packet);

}  // namespace verbline::forward

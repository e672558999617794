// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A router's processing of every IPv6 packet: checks on arrival (RFC 8200, 3; RFC 4291, 2), hop limit on departure.
/// Pure functions of the packet. Extension headers are none of a router's business (RFC 8200, 4).

#include <cstdint>
#include <optional>

#include <rte_mbuf.h>

#include "datapath/offload/packet.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/types.h"
#include "pmd/base/counter.h"

namespace verbline::forward {

#define VERBLINE_IPV6_DISCARDS(X)                                                                      \
    X(rx_dropped_ipv6_version, "packets with the link's EtherType for IPv6 and another version")       \
    X(rx_dropped_ipv6_header, "IPv6 packets shorter than their header")                                \
    X(rx_dropped_ipv6_truncated, "IPv6 packets that end before their payload length")                  \
    X(rx_dropped_ipv6_martian_source,                                                                  \
      "IPv6 packets from an address that is no host's: unspecified, loopback, multicast, mapped IPv4") \
    X(rx_dropped_ipv6_martian_destination,                                                             \
      "IPv6 packets to an address that no link carries: unspecified, loopback, mapped IPv4, a group of one interface")

VERBLINE_COUNTER_ENUM(Ipv6Discard, VERBLINE_IPV6_DISCARDS)

/// Whether no packet may have this source address, and none may be sent to it in reply (RFC 4291, 2.5.2, 2.5.3 and
/// 2.7). Also true for ::, which a host may use towards a group (RFC 4862, 5.4.2).
bool is_martian_source(const wire::Ipv6Address& address);

/// Checks a received packet, which begins at its IPv6 header; returns the reason to drop it, or none. Trims link
/// padding behind the packet.
std::optional<Ipv6Discard> check_ipv6(rte_mbuf& packet);

/// True for most packets: those without padding, from host to host; addresses whose first octet is 0 or 255 are
/// another's business. Then check_ipv6 has nothing against the packet and nothing to trim; if false, ask that. `at`:
/// bytes of a link's header in front.
inline bool is_plain_ipv6(const rte_mbuf& packet, std::size_t at = 0) {
    if (packet.data_len < at + wire::Ipv6::size) return false;
    const auto header = offload::checked_header<wire::Ipv6>(packet, at).bytes();
    const auto common = [](std::uint8_t octet) { return static_cast<std::uint8_t>(octet + 1) > 1; };
    return wire::load8(header, 0) >> 4 == 6 && at + wire::Ipv6::size + wire::load16(header, 4) == packet.pkt_len &&
           common(wire::load8(header, 8)) && common(wire::load8(header, 24));
}

/// Whether the packet is a neighbour solicitation or advertisement without extension headers, as RFC 4861 has them; or,
/// if `of_a_router`, a router solicitation.
bool is_neighbour_discovery(const rte_mbuf& packet, bool of_a_router = false);

/// Whether it is MLD of either version, behind the hop-by-hop header that carries its alert.
bool is_listener_discovery(const rte_mbuf& packet);

/// Decrements the hop limit, which must be at least one. No checksum covers it. `at`: where the IP header begins.
inline void decrement_hop_limit(rte_mbuf& packet, std::size_t at = 0) {
    using wire::Ipv6;
    const auto ip = offload::checked_header<Ipv6>(packet, at);
    ip.set<&Ipv6::hop_limit>(static_cast<std::uint8_t>(ip.get<&Ipv6::hop_limit>() - 1));
}

}  // namespace verbline::forward

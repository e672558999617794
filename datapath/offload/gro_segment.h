// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What receive coalescing (gro.h, udp_gro.h) must know of one packet: whether it is a TCP segment, by itself or inside
/// a tunnel, or a UDP datagram, that may be merged with others, and whether its checksums verify.

#include <array>
#include <cstddef>
#include <cstdint>

#include "datapath/wire/bytes.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"

struct rte_mbuf;

namespace verbline::offload {

/// How a packet relates to the flows that are being merged.
enum class Role : std::uint8_t {
    unrelated,  ///< of another protocol
    unclear,    ///< of whichever flow: a fragment, extension headers, or not understood
    alone,      ///< of a known flow, but like no other packet of it
    mergeable,
};

/// Addresses and ports, as in the packet; those of IPv4 in front.
struct FlowKey {
    std::uint32_t ports = 0;
    bool ipv6 = false;
    std::array<std::uint64_t, 4> addresses{};

    std::uint16_t ip_size() const { return ipv6 ? wire::Ipv6::size : wire::Ipv4::size; }
    bool operator==(const FlowKey&) const = default;
};

struct Segment {
    Role role = Role::unrelated;
    std::uint16_t ip_at = 0;         ///< offset of the IP header in front of TCP's; 0: there is no tunnel
    std::uint16_t outer_size = 0;    ///< of a tunnel's own IP header
    bool outer_udp = false;          ///< the tunnel is over UDP
    std::uint64_t tunnel_flag = 0;   ///< RTE_MBUF_F_TX_TUNNEL_*
    std::uint16_t headers_size = 0;  ///< of all
    std::uint16_t payload_size = 0;
    std::uint16_t identification = 0, outer_identification = 0;  ///< of IPv4
    std::uint32_t sequence = 0;
    bool push = false;
    FlowKey flow;
};

/// Whether the packet may be one that `classify` looks into: it is TCP, or may be a tunnel's, if there are any
/// `tunnels`.
bool worth_a_look(const rte_mbuf& packet, std::uint64_t tunnels);

/// `tunnels`: as for `coalesce`.
Segment classify(const rte_mbuf& packet, std::uint64_t tunnels);

/// Whether the packet may be one that `classify_datagram` looks into.
bool may_be_datagram(const rte_mbuf& packet);

/// Of a UDP datagram, by itself. Mergeable if it has a checksum, is from host to host, and is none of DHCP.
Segment classify_datagram(const rte_mbuf& packet);

/// Whether the checksums of a segment whose IP header is at `ip_at` verify: by the device's word for it, or our own
/// sum. It is whole, and without IP options or extension headers.
bool intact(const rte_mbuf& packet, std::uint32_t ip_at);

/// Sets the lengths of a merged packet in its IP header, without options or extension headers, and keeps the header's
/// checksum right. `size`: from that header on.
void lengthen_ip(wire::MutableBytes header, std::uint32_t size);

}  // namespace verbline::offload

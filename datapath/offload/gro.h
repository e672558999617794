// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Generic receive offload: consecutive TCP segments of one flow that arrive in one burst become one large packet,
/// which crosses the router, and the kernel behind it, at the cost of one.
///
///     in   | A1 | A2 | B1 | A3 | C | B2 | A4' |          ' PSH, or smaller than the others: the last of its packet
///     out  | A1+A2+A3+A4' | B1+B2 | C |                  chains: payload behind the first packet's headers
///
/// segmentation.h can split a merged packet into exactly the packets that came in. Therefore packets are merged only if
/// they differ in nothing but
///
/// - sequence number: each begins where the previous one ended;
/// - IPv4's identification: incremented by one each. With DF set it may also be constant: it has no meaning then (RFC
/// 6864,
///   4.1), and is incremented on segmentation;
/// - PSH, set on the last only; length, as the last may be shorter; checksums, which have been verified: packets with
///   an invalid one are not merged.
///
/// All other header fields must be identical: TTL, TOS, IPv6's flow label, window, acknowledgement, TCP options with
/// timestamps. Packets with other TCP flags than ACK and PSH, without payload, fragments and packets with IP options or
/// extension headers are passed on as they are. Within a flow the order never changes; no packet is lost, and none
/// waits for another burst.
///
/// Likewise TCP segments inside a tunnel (tunnel.h) of those kinds that some device can cut again: otherwise it would
/// be merged only to be copied apart. Their outer headers differ in nothing but IPv4's identification, likewise,
/// lengths, and checksums, which have been verified. GRE with checksums or sequence numbers is not merged.
///
/// A merged packet carries TX_IPV4 or TX_IPV6, TX_TCP_CKSUM and TX_TCP_SEG requests with tso_segsz, l3_len and l4_len;
/// its IP header checksum is right, its TCP checksum is undefined. One of a tunnel carries TX_OUTER_IPV6, or
/// TX_OUTER_IPV4 and TX_OUTER_IP_CKSUM; TX_TUNNEL_*, TX_OUTER_UDP_CKSUM if it had that checksum, and outer_l3_len and
/// l2_len (pmd/README.md). Nothing is allocated. Has no state.

#include <cstdint>

#include "pmd/netdev.h"

namespace verbline::offload {

/// Merges packets in place. They begin at their network header; at most pmd::max_burst. Returns how many are left, at
/// the front of `packets`. `tunnels`: RTE_ETH_TX_OFFLOAD_*_TNL_TSO bits of the kinds of tunnels to merge in.
std::uint16_t coalesce(pmd::Burst packets, std::uint64_t tunnels = 0);

}  // namespace verbline::offload

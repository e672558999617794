// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Coalescing of UDP datagrams for a kernel: those of one flow that arrive in one burst cross its network stack as one
/// packet, and are separate datagrams again where a program receives them (UDP GSO; Linux since 6.2 by a tun).
///
///     in   | A1 | A2 | B1 | A3 | A4' | A5 |          ' smaller than the others: the last of its packet
///     out  | A1+A2+A3+A4' | B1 | A5 |
///
/// Only for packets that end in this host's kernel: unlike TCP's segments, datagrams keep their boundaries, so that a
/// merged packet is of use to nothing but a device with RTE_ETH_TX_OFFLOAD_UDP_TSO. Packets are merged only if they
/// differ in nothing but
///
/// - IPv4's identification: incremented by one each, or anything with DF set, as it has no meaning then (RFC
/// 6864, 4.1);
/// - length, as the last may be shorter; checksums, which have been verified: packets with an invalid one are not
///   merged, nor those without.
///
/// Fragments, packets with IP options or extension headers, to groups, and of DHCP are passed on as they are. Within a
/// flow the order never changes; no packet is lost, and none waits for another burst.
///
/// A merged packet carries TX_IPV4 or TX_IPV6, TX_UDP_CKSUM and TX_UDP_SEG requests with tso_segsz, l3_len and l4_len;
/// its IP header checksum is right, its UDP checksum is undefined. Nothing is allocated. Has no state.

#include <cstdint>

#include "pmd/netdev.h"

namespace verbline::offload {

/// Merges packets in place. They begin at their IP header; at most pmd::max_burst. Returns how many are left, at the
/// front of `packets`.
std::uint16_t coalesce_datagrams(pmd::Burst packets);

}  // namespace verbline::offload

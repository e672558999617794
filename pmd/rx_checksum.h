// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Whether a device has verified the checksums of the headers with which a received packet begins.
///
/// DPDK's flags are about the innermost headers that the device has parsed: of a tunnel (VXLAN, GRE, IP in IP) those
/// inside, and the outer ones have flags of their own. A packet that the device took for a tunnel's therefore counts as
/// not verified here.

#include <rte_mbuf.h>
#include <rte_mbuf_ptype.h>

namespace verbline::pmd {

/// Whether what the flags say is about the outermost headers.
inline bool rx_flags_are_of_outermost(const rte_mbuf& packet) {
    return (packet.packet_type & RTE_PTYPE_TUNNEL_MASK) == 0 &&
           (packet.ol_flags & (RTE_MBUF_F_RX_OUTER_IP_CKSUM_BAD | RTE_MBUF_F_RX_OUTER_L4_CKSUM_MASK)) == 0;
}

/// The IPv4 header's checksum.
inline bool ip_checksum_verified(const rte_mbuf& packet) {
    return (packet.ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) == RTE_MBUF_F_RX_IP_CKSUM_GOOD &&
           rx_flags_are_of_outermost(packet);
}

/// The checksum of TCP or UDP.
inline bool l4_checksum_verified(const rte_mbuf& packet) {
    return (packet.ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_GOOD &&
           rx_flags_are_of_outermost(packet);
}

}  // namespace verbline::pmd

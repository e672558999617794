// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The header that virtio puts before each packet (virtio 1.2, 5.1.6.2), translated to and from DPDK's offload flags.
///
///      0       1         2         4          6            8             10
///     +-------+---------+---------+----------+------------+-------------+
///     | flags | gso_type| hdr_len | gso_size | csum_start | csum_offset |
///     +-------+---------+---------+----------+------------+-------------+
///
/// Byte order is the host's (the legacy format, which tun speaks unless told otherwise); offsets count from the first
/// byte of the packet. NEEDS_CSUM means: the field at csum_start + csum_offset holds the sum of the pseudo-header,
/// length included; add everything from csum_start on. DPDK leaves the field undefined instead, so it is seeded here.

#include <cstdint>
#include <expected>

#include "pmd/netdev.h"

namespace verbline::pmd {

/// Written out here because <linux/virtio_net.h> names a field `class`, which C++ cannot read.
struct VnetHeader {
    static constexpr std::uint8_t needs_csum = 1, data_valid = 2;              ///< flags
    static constexpr std::uint8_t gso_none = 0, gso_tcpv4 = 1, gso_tcpv6 = 4;  ///< gso_type ...
    static constexpr std::uint8_t gso_ecn = 0x80;                              ///< ... and a bit beside it

    std::uint8_t flags = 0;
    std::uint8_t gso_type = gso_none;
    std::uint16_t hdr_len = 0;   ///< a hint
    std::uint16_t gso_size = 0;  ///< payload bytes of each segment
    std::uint16_t csum_start = 0;
    std::uint16_t csum_offset = 0;
};
static_assert(sizeof(VnetHeader) == 10);

/// Why a header was refused: its offsets lie outside the packet or contradict the packet's own headers, or it asks for
/// a segmentation that cannot be expressed (only TCP over IPv4 or IPv6 can).
enum class VnetError : std::uint8_t { offsets, segmentation };

/// Puts on `packet` the requests that the kernel made in `header`. What DPDK has no flag for (SCTP, say, or a packet
/// behind an unusual header) is summed here and now. The headers are in the first segment, or it is an error.
std::expected<void, VnetError> read_vnet_header(const VnetHeader& header, Carries carries, rte_mbuf& packet);

/// The header that hands `packet`'s requests to the kernel; writes the IPv4 checksum or the seed of the TCP or UDP
/// checksum into the packet where requested.
std::expected<VnetHeader, VnetError> make_vnet_header(rte_mbuf& packet);

}  // namespace verbline::pmd

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The virtio header in front of each packet (virtio 1.2, 5.1.6.2), translated to and from DPDK's offload flags.
///
///      0       1         2         4          6            8             10
///     +-------+---------+---------+----------+------------+-------------+
///     | flags | gso_type| hdr_len | gso_size | csum_start | csum_offset |
///     +-------+---------+---------+----------+------------+-------------+
///
/// Byte order is the host's (the legacy format, tun's default); offsets count from the first byte of the packet.
/// NEEDS_CSUM means that the field at csum_start + csum_offset holds the sum of the pseudo-header, length included, and
/// everything from csum_start on is still to be added. DPDK leaves the field undefined instead, so it is seeded here.

#include <cstdint>
#include <expected>

#include "pmd/netdev.h"

namespace verbline::pmd {

/// Declared here because <linux/virtio_net.h> has a field called `class`, which is a C++ keyword.
struct VnetHeader {
    static constexpr std::uint8_t needs_csum = 1, data_valid = 2;                           ///< flags
    static constexpr std::uint8_t gso_none = 0, gso_tcpv4 = 1, gso_tcpv6 = 4, gso_udp = 5;  ///< gso_type ...
    static constexpr std::uint8_t gso_ecn = 0x80;                                           ///< ... and a bit beside it

    std::uint8_t flags = 0;
    std::uint8_t gso_type = gso_none;
    std::uint16_t hdr_len = 0;   ///< a hint
    std::uint16_t gso_size = 0;  ///< payload bytes of each segment
    std::uint16_t csum_start = 0;
    std::uint16_t csum_offset = 0;
};
static_assert(sizeof(VnetHeader) == 10);

/// Why a header was rejected: its offsets lie outside the packet or contradict the packet's own headers, or it requests
/// a segmentation other than of TCP over IPv4 or IPv6.
enum class VnetError : std::uint8_t { offsets, segmentation };

/// Translates the requests in the kernel's `header` to offload flags of `packet`. Checksums for which DPDK has no flag
/// (SCTP, or unusual headers) are computed at once. An error if the headers are not in the first segment.
std::expected<void, VnetError> read_vnet_header(const VnetHeader& header, Carries carries, rte_mbuf& packet);

/// Returns the header that passes `packet`'s requests to the kernel. Writes the IPv4 checksum, and the seed of the TCP
/// or UDP checksum, into the packet if requested.
std::expected<VnetHeader, VnetError> make_vnet_header(rte_mbuf& packet);

}  // namespace verbline::pmd

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// IPv4 fragmentation (RFC 791, 2.3 and 3.2; RFC 1812, 5.2.6). Own code, because DPDK's rte_ip_frag either leaves the
/// payload in indirect mbufs, where no link header or trailer can be put, or refuses packets that are chains.

#include <cstddef>
#include <cstdint>

#include "pmd/netdev.h"

struct rte_mempool;

namespace verbline::forward {

constexpr std::size_t max_fragments = pmd::max_burst;

/// Copies the packet into fragments of at most `mtu` bytes, each one mbuf of `pool` with the pool's headroom, and fills
/// `out` from the front. All or nothing: 0 if mbufs are wanting, or the packet would become more fragments than `out`
/// holds.
///
/// `packet` is valid IPv4, may itself be a fragment, and stays the caller's; whether it may be fragmented is for the
/// caller to know. Checksums that it asks for are written first, for no device could do so later. It has no
/// segmentation request: see offload::limit_segments.
std::uint16_t fragment(rte_mbuf& packet, std::uint32_t mtu, rte_mempool& pool, pmd::Burst out);

}  // namespace verbline::forward

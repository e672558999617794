// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// IPv4 fragmentation (RFC 791, 2.3 and 3.2; RFC 1812, 5.2.6). DPDK's rte_ip_frag is not used, because it either leaves
/// the payload in indirect mbufs, to which no link header or trailer can be added, or rejects chained mbufs.

#include <cstddef>
#include <cstdint>

#include "pmd/netdev.h"

struct rte_mempool;

namespace verbline::forward {

constexpr std::size_t max_fragments = pmd::max_burst;

/// Copies the packet into fragments of at most `mtu` bytes, each one mbuf of `pool` with the pool's headroom, and fills
/// `out` from the front. Returns the number of fragments, which the caller owns; 0, and none allocated, if the pool has
/// too few mbufs or `out` is too small.
///
/// `packet` must be valid IPv4, may itself be a fragment, and stays the caller's, who checks that it may be fragmented
/// (DF). Requested checksums are computed first, since no device could do so later. It must not have a segmentation
/// request: see offload::limit_segments.
std::uint16_t fragment(rte_mbuf& packet, std::uint32_t mtu, rte_mempool& pool, pmd::Burst out);

}  // namespace verbline::forward

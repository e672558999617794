// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Bulk allocation from a mempool that may run short.

#include <rte_mbuf.h>

#include "pmd/netdev.h"

namespace verbline::pmd {

/// Fills `out` from the front with empty packets from `pool` and returns how many: fewer than `out` has if the pool
/// runs short.
inline std::size_t allocate(rte_mempool& pool, Burst out) {
    if (rte_pktmbuf_alloc_bulk(&pool, out.data(), static_cast<unsigned>(out.size())) == 0) return out.size();
    std::size_t n = 0;
    while (n < out.size() && (out[n] = rte_pktmbuf_alloc(&pool)) != nullptr) ++n;
    return n;
}

}  // namespace verbline::pmd

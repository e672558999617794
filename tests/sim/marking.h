// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Congestion marks as a data-centre switch sets them: by the length of the queue, on packets that say they may be
/// marked (RFC 3168), with the probability of RED between two thresholds (DCQCN, SIGCOMM 2015, section 3).
///
///     probability
///          1 |              ┌────────
///            |              │
///       pmax |            . ┘
///          0 |______ .  '___________ queue, bytes
///                  kmin     kmax

#include <cstdint>

struct rte_mbuf;

namespace verbline::sim {

struct Marking {
    std::uint64_t kmin = 0, kmax = 0;  ///< bytes waiting; kmax 0: nothing is marked
    double pmax = 0.01;

    double probability(std::uint64_t queue) const {
        if (kmax == 0 || queue <= kmin) return 0;
        if (queue > kmax) return 1;
        return pmax * static_cast<double>(queue - kmin) / static_cast<double>(kmax - kmin);
    }
};

/// Sets "congestion experienced" on an IPv4 or IPv6 packet in an Ethernet frame, tagged or not, and keeps the IPv4
/// checksum right. False, and nothing is changed, if the packet has no such header or may not be marked.
bool mark_congestion(rte_mbuf& frame);

}  // namespace verbline::sim

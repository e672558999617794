// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Cuts link padding off a received packet.

#include <cstdint>

#include <rte_mbuf.h>

namespace verbline::forward {

/// Shortens the packet, which may be a chain, to `length` bytes, of which it has at least as many.
inline void trim(rte_mbuf& packet, std::uint32_t length) {
    auto* last = &packet;
    auto left = length;
    std::uint16_t segments = 1;
    for (; left > last->data_len; last = last->next, ++segments) left -= last->data_len;
    last->data_len = static_cast<std::uint16_t>(left);
    rte_pktmbuf_free(last->next);
    last->next = nullptr;
    packet.nb_segs = segments;
    packet.pkt_len = length;
}

}  // namespace verbline::forward

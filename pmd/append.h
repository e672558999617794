// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Appends bytes to an mbuf chain, adding segments as needed.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <rte_mbuf.h>
#include <rte_memcpy.h>

namespace verbline::pmd {

/// Appends a copy of `bytes` to `packet`. `tail` is its last segment, and is updated. Returns false if the pool is
/// empty; the packet then holds part of the bytes.
inline bool append(rte_mbuf& packet, rte_mbuf*& tail, std::span<const std::byte> bytes, rte_mempool* pool) {
    while (!bytes.empty()) {
        if (rte_pktmbuf_tailroom(tail) == 0) {
            auto* const next = rte_pktmbuf_alloc(pool);
            if (next == nullptr) return false;
            tail = tail->next = next;
            ++packet.nb_segs;
        }
        const auto part = bytes.first(std::min<std::size_t>(bytes.size(), rte_pktmbuf_tailroom(tail)));
        rte_memcpy(rte_pktmbuf_mtod_offset(tail, std::byte*, tail->data_len), part.data(), part.size());
        tail->data_len = static_cast<std::uint16_t>(tail->data_len + part.size());
        packet.pkt_len += static_cast<std::uint32_t>(part.size());
        bytes = bytes.subspan(part.size());
    }
    return true;
}

}  // namespace verbline::pmd

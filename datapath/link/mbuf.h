// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Operations of links on mbufs.

#include <cstring>

#include <rte_mbuf.h>

#include "datapath/link/header.h"
#include "datapath/wire/ethernet.h"

namespace verbline::link {

/// Copies the header's bytes there: those of Ethernet, or at least sixteen, by a few moves of fixed size, the last of
/// which may overlap, as a call takes longer.
inline void copy(const Header& header, void* to) {
    constexpr std::size_t block = 16;
    const auto* const from = header.bytes.data();
    auto* const at = static_cast<std::byte*>(to);
    if (header.size == wire::Ethernet::size) {
        std::memcpy(at, from, wire::Ethernet::size);
        return;
    }
    if (header.size < block) {
        std::memcpy(at, from, header.size);
        return;
    }
    for (std::size_t i = 0; i + block < header.size; i += block) std::memcpy(at + i, from + i, block);
    const std::size_t last = header.size - block;
    std::memcpy(at + last, from + last, block);
}

/// Copies `header` in front of the packet; false, and the packet unchanged, if the headroom is too small.
inline bool prepend(rte_mbuf& packet, const Header& header) {
    auto* const at = rte_pktmbuf_prepend(&packet, header.size);
    if (at == nullptr) return false;
    copy(header, at);
    return true;
}

/// Tells a device with offloads how many bytes are in front of the IP header, of a tunnel's packet the outer one. A
/// packet without requests is left as it is: what is written here lies in the mbuf's second cache line.
inline void set_link_header(rte_mbuf& packet, std::size_t size) {
    if ((packet.ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK) == 0) [[likely]]
        return;
    if ((packet.ol_flags & RTE_MBUF_F_TX_TUNNEL_MASK) != 0) [[unlikely]] {
        packet.outer_l2_len = size & 0x7f;
    } else {
        packet.l2_len = size & 0x7f;
    }
}

}  // namespace verbline::link

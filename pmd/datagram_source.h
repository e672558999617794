// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Who sent a datagram, as a device that carries datagrams (Carries::datagram) tells with the packet: in the mbuf's
/// `hash.fdir`, as `datagram_source` reads it; and in the 40 bytes in front of the payload, the mbuf's headroom, its
/// GRH if it came with one (IBTA volume 1, 11.4.1.2). Both are the receiver's until it changes the packet's front.

#include <span>
#include <utility>

#include <rte_mbuf.h>

#include "datapath/wire/types.h"

namespace verbline::pmd {

constexpr std::size_t datagram_header_size = 40;
static_assert(RTE_PKTMBUF_HEADROOM >= datagram_header_size);

struct DatagramSource {
    wire::Lid lid{};  ///< of InfiniBand
    wire::Qpn qpn{};
    bool global = false;  ///< there is a GRH

    bool operator==(const DatagramSource&) const = default;
};

inline void set_datagram_source(rte_mbuf& payload, const DatagramSource& source) {
    constexpr std::uint32_t has_header = 1u << 31;  // a QPN has 24 bits
    payload.hash.fdir.lo = std::to_underlying(source.qpn) | (source.global ? has_header : 0);
    payload.hash.fdir.hi = std::to_underlying(source.lid);
}

inline DatagramSource datagram_source(const rte_mbuf& payload) {
    return {.lid = wire::Lid{static_cast<std::uint16_t>(payload.hash.fdir.hi)},
            .qpn = wire::Qpn{payload.hash.fdir.lo & 0xff'ffff},
            .global = payload.hash.fdir.lo >> 31 != 0};
}

/// The GRH of a global one.
inline std::span<const std::byte, datagram_header_size> datagram_header(const rte_mbuf& payload) {
    return std::span<const std::byte, datagram_header_size>(
        rte_pktmbuf_mtod(&payload, const std::byte*) - datagram_header_size, datagram_header_size);
}

}  // namespace verbline::pmd

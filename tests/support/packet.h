// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Packets from bytes and bytes from packets.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include <rte_mbuf.h>

#include "tests/support/eal.h"

namespace verbline::test {

struct FreePacket {
    void operator()(rte_mbuf* packet) const { rte_pktmbuf_free(packet); }
};
using Packet = std::unique_ptr<rte_mbuf, FreePacket>;

using ByteVector = std::vector<std::byte>;

/// A packet of `packet_pool()` with these bytes, in segments of at most `segment` bytes; null when the pool is empty.
inline Packet make_packet(std::span<const std::byte> bytes, std::size_t segment = 2304) {
    Packet head(rte_pktmbuf_alloc(packet_pool()));
    for (rte_mbuf* tail = head.get(); tail != nullptr;) {
        const auto part = bytes.first(std::min(bytes.size(), segment));
        std::memcpy(rte_pktmbuf_mtod(tail, std::byte*), part.data(), part.size());
        tail->data_len = static_cast<std::uint16_t>(part.size());
        head->pkt_len += static_cast<std::uint32_t>(part.size());
        bytes = bytes.subspan(part.size());
        if (bytes.empty()) return head;
        tail = tail->next = rte_pktmbuf_alloc(packet_pool());
        if (tail != nullptr) ++head->nb_segs;
    }
    return nullptr;
}

inline ByteVector bytes_of(const rte_mbuf* packet) {
    ByteVector bytes(packet->pkt_len);
    for (std::size_t at = 0; packet != nullptr; at += packet->data_len, packet = packet->next) {
        std::memcpy(bytes.data() + at, rte_pktmbuf_mtod(packet, const std::byte*), packet->data_len);
    }
    return bytes;
}
inline ByteVector bytes_of(const Packet& packet) {
    return bytes_of(packet.get());
}

/// `bytes_from(0x45, 0x00, ...)`
template <class... Ts>
ByteVector bytes_from(Ts... values) {
    return {static_cast<std::byte>(values)...};
}

/// `size` bytes that differ from place to place and from seed to seed.
inline ByteVector pattern(std::size_t size, unsigned seed = 0) {
    ByteVector bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + (i >> 8) * 13 + seed * 31);
    return bytes;
}

}  // namespace verbline::test

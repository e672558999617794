// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The 802.1Q tag of a frame in an mbuf: taken off what was received, put on what is sent (IEEE 802.1Q, 9.6).

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <tuple>

#include <rte_mbuf.h>

#include "datapath/wire/bytes.h"
#include "datapath/wire/ethernet.h"

namespace verbline::pmd::vlan {

enum class Id : std::uint16_t {};  ///< 1 to 4094

/// Of untagged frames, and of those that a tag gives a priority alone (IEEE 802.1Q, 9.6).
constexpr Id untagged{0};

constexpr std::uint16_t id_mask = 0xfff;
constexpr std::size_t addresses = 12;  ///< bytes of both MAC addresses, behind which the tag is

/// Takes the tag off a frame, which may already be off and in the mbuf's `vlan_tci`, as drivers of DPDK strip it. None,
/// and the frame unchanged, if it is shorter than its headers.
inline std::optional<Id> take(rte_mbuf& frame) noexcept {
    using wire::Ethernet;
    if (frame.data_len < Ethernet::size) return std::nullopt;
    if ((frame.ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0) {
        frame.ol_flags &= ~(RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED);
        return static_cast<Id>(frame.vlan_tci & id_mask);
    }
    auto* const begin = rte_pktmbuf_mtod(&frame, std::byte*);
    const wire::Bytes bytes(begin, frame.data_len);
    if (wire::EtherType{wire::load16(bytes, addresses)} != wire::ether_type::vlan) return untagged;
    if (bytes.size() < Ethernet::size + wire::Vlan::size) return std::nullopt;
    const auto tag = wire::load16(bytes, Ethernet::size);
    std::memmove(begin + wire::Vlan::size, begin, addresses);
    rte_pktmbuf_adj(&frame, wire::Vlan::size);
    return static_cast<Id>(tag & id_mask);
}

/// The length in front of the IP header, of a tunnel's packet the outer one, grows by `bytes`, if it is set.
inline void lengthen_link_header(rte_mbuf& frame, std::ptrdiff_t bytes) noexcept {
    const bool tunnel = (frame.ol_flags & RTE_MBUF_F_TX_TUNNEL_MASK) != 0;
    const auto longer = [bytes](std::uint64_t length) {
        return length == 0 ? 0 : static_cast<std::uint64_t>(static_cast<std::ptrdiff_t>(length) + bytes) & 0x7f;
    };
    if (tunnel)
        frame.outer_l2_len = longer(frame.outer_l2_len) & 0x7f;
    else
        frame.l2_len = longer(frame.l2_len) & 0x7f;
}

/// Puts a tag of priority 0 on an untagged frame. False, and the frame unchanged, without the headroom.
inline bool put(rte_mbuf& frame, Id id) noexcept {
    auto* const begin = reinterpret_cast<std::byte*>(rte_pktmbuf_prepend(&frame, wire::Vlan::size));
    if (begin == nullptr) return false;
    std::memmove(begin, begin + wire::Vlan::size, addresses);
    const wire::MutableBytes bytes(begin, frame.data_len);
    wire::store16(bytes, addresses, static_cast<std::uint16_t>(wire::ether_type::vlan));
    wire::store16(bytes, addresses + 2, static_cast<std::uint16_t>(id));
    lengthen_link_header(frame, wire::Vlan::size);
    return true;
}

/// Undoes `put`.
inline void undo_put(rte_mbuf& frame) noexcept {
    std::ignore = take(frame);
    lengthen_link_header(frame, -static_cast<std::ptrdiff_t>(wire::Vlan::size));
}

}  // namespace verbline::pmd::vlan

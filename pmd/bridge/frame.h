// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Reads a frame's two MAC addresses, as integers in the low 48 bits.

#include <cstdint>

#include <rte_ether.h>
#include <rte_mbuf.h>

#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"

namespace verbline::pmd {

constexpr std::uint64_t mac_number(const wire::MacAddress& mac) {
    return std::uint64_t{wire::load16(mac.bytes, 0)} << 32 | wire::load32(mac.bytes, 2);
}

constexpr wire::MacAddress mac_of(std::uint64_t number) {
    wire::MacAddress mac;
    wire::store16(mac.bytes, 0, static_cast<std::uint16_t>(number >> 32));
    wire::store32(mac.bytes, 2, static_cast<std::uint32_t>(number));
    return mac;
}

constexpr bool is_group(std::uint64_t mac) {
    return (mac >> 40 & 1) != 0;
}

/// True if the first segment is too short for an Ethernet header. The functions below require that it is not.
inline bool is_runt(const rte_mbuf& frame) {
    return frame.data_len < RTE_ETHER_HDR_LEN;
}
inline wire::Bytes ethernet_header(const rte_mbuf& frame) {
    return {rte_pktmbuf_mtod(&frame, const std::byte*), RTE_ETHER_HDR_LEN};
}
inline std::uint64_t destination_mac(const rte_mbuf& frame) {
    return std::uint64_t{wire::load16(ethernet_header(frame), 0)} << 32 | wire::load32(ethernet_header(frame), 2);
}
inline std::uint64_t source_mac(const rte_mbuf& frame) {
    return std::uint64_t{wire::load16(ethernet_header(frame), 6)} << 32 | wire::load32(ethernet_header(frame), 8);
}

}  // namespace verbline::pmd

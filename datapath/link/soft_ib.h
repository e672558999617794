// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The soft fabric: complete InfiniBand packets (LRH to VCRC) behind an Ethernet header, forwarded by any bridge.
///
///     +-----------------+-----+-------+-----+-----+---------+-----+------+------+
///     | Ethernet 0x88B5 | LRH | (GRH) | BTH | ... | payload | pad | ICRC | VCRC |
///     +-----------------+-----+-------+-----+-----+---------+-----+------+------+
///           14             8     40     12                   0..3    4      2
///
/// The MAC address is derived from the LID, so that an Ethernet bridge acts as the InfiniBand switch: a unicast LID is
/// 02:00:00:00:hi:lo, a multicast LID 03:00:00:00:hi:lo (the group bit set). 0x88B5 is IEEE 802's local experimental
/// EtherType 1. Without its first 14 bytes, a captured frame is an InfiniBand packet.
///
/// Builds and checks the routing headers and CRCs (IBTA volume 1, chapters 5 to 9). What the packet is, and which queue
/// pair it belongs to, is left to transport.

#include <cstddef>
#include <cstdint>
#include <expected>

#include "datapath/link/discard.h"
#include "datapath/link/header.h"
#include "datapath/wire/address_handle.h"
#include "datapath/wire/bytes.h"
#include "datapath/wire/grh.h"
#include "datapath/wire/types.h"

namespace verbline::link::soft_ib {

constexpr std::size_t trailer_size = 4 + 2;  ///< ICRC, VCRC
constexpr std::size_t max_overhead = 14 + 8 + 40 + 12 + 8 + 3 + trailer_size;

constexpr wire::MacAddress mac_of(wire::Lid lid) {
    const auto value = static_cast<std::uint16_t>(lid);
    wire::MacAddress mac;
    mac.bytes[0] = wire::is_multicast(lid) ? std::byte{3} : std::byte{2};
    mac.bytes[4] = static_cast<std::byte>(value >> 8);
    mac.bytes[5] = static_cast<std::byte>(value);
    return mac;
}

/// The GRH of packets from `from` to `to`, without the payload length.
wire::Grh grh_of(const wire::Gid& from, const wire::AddressHandle& to);

/// All headers in front of the BTH: Ethernet header, LRH, and GRH if `to` is global. Lengths are left for
/// `set_lengths`.
Header routing_header(wire::Lid from, const wire::Gid& from_gid, const wire::AddressHandle& to);

/// Replaces the source of a frame that holds its routing header: LRH:SLID, and the MAC address that follows from it.
void set_source(wire::MutableBytes frame, wire::Lid lid) noexcept;

/// Completes, in two steps, a frame that holds its routing header, BTH to padding, and room for the trailer: the
/// lengths in LRH and GRH; then ICRC and VCRC. `write_crcs` returns false if the frame is too long for an LRH.
void set_lengths(wire::MutableBytes frame) noexcept;
bool write_crcs(wire::MutableBytes frame) noexcept;
/// The VCRC alone, of a frame that ends with it: for who changes a packet on its way, and its ICRC with it.
void write_vcrc(wire::MutableBytes frame) noexcept;

/// Offsets of the parts of a valid received packet in its frame.
struct Parts {
    bool global = false;
    std::uint32_t network_at = 0;  ///< LRH; GRH if global
    std::uint32_t bth_at = 0;
    std::uint32_t icrc_at = 0;
};

/// Checks all headers up to the BTH, and both CRCs; accepts frames padded to Ethernet's minimum. Returns the reason to
/// drop it otherwise.
std::expected<Parts, Discard> check(wire::Bytes frame) noexcept;

}  // namespace verbline::link::soft_ib

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The soft fabric: InfiniBand packets as they are on a cable, behind an Ethernet header that any bridge understands.
///
///     +-----------------+-----+-------+-----+------+---------+-----+------+------+
///     | Ethernet 0x88B5 | LRH | (GRH) | BTH | DETH | payload | pad | ICRC | VCRC |
///     +-----------------+-----+-------+-----+------+---------+-----+------+------+
///           14             8     40     12     8              0..3    4      2
///
/// The MAC address is made from the LID, so that the Ethernet underneath is the InfiniBand switch: a unicast LID is
/// 02:00:00:00:hi:lo, a multicast LID 03:00:00:00:hi:lo (the group bit set). 0x88B5 is IEEE 802's local experimental
/// EtherType 1. A capture becomes a true InfiniBand capture by leaving the first 14 bytes away.
///
/// Here the routing headers and the CRCs of any packet are made and checked, and a whole UD packet is built and taken
/// apart (IBTA volume 1, chapters 5 to 9); whose it is, is for transport to say.

#include <cstddef>
#include <cstdint>
#include <expected>

#include "datapath/link/destination.h"
#include "datapath/wire/bytes.h"
#include "datapath/wire/grh.h"
#include "datapath/wire/types.h"
#include "pmd/base/counter.h"

struct rte_mbuf;

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

/// The GRH of every packet from `from` to `to`; its payload length is left open.
wire::Grh grh_of(const wire::Gid& from, const wire::AddressHandle& to);

/// Everything in front of the BTH: Ethernet header, LRH, and GRH if `to` is global. Lengths are left for `seal`.
Header routing_header(wire::Lid from, const wire::Gid& from_gid, const wire::AddressHandle& to);

/// Completes a frame that has its routing header, all from BTH to padding, and room for the trailer at its end, in two
/// steps: the lengths in LRH and GRH; ICRC and VCRC. False if the frame is too long for an LRH.
void set_lengths(wire::MutableBytes frame) noexcept;
bool write_crcs(wire::MutableBytes frame) noexcept;

/// The sending end of a UD packet.
struct Source {
    wire::Lid lid{};
    wire::Gid gid{};
    wire::Qpn qpn{};
    wire::PKey pkey{0xffff};
};

/// The headers of every UD SEND from `from` to `to` (its address, qpn and qkey). Lengths, pad count and PSN are left
/// for `finish`.
Header ud_header(const Source& from, const Destination& to);

/// Completes a frame that begins with such a header: fills in lengths, pad count and PSN, appends padding, ICRC and
/// VCRC. The mbuf is one segment. False, and nothing done, if it has no room for the trailer.
bool finish(rte_mbuf& frame, wire::Psn psn) noexcept;

/// Where the parts of a packet lie that arrived whole; offsets in the frame.
struct Parts {
    bool global = false;
    std::uint32_t network_at = 0;  ///< LRH; GRH if global
    std::uint32_t bth_at = 0;
    std::uint32_t icrc_at = 0;
};

/// A UD packet that arrived whole.
struct Datagram {
    wire::Lid slid{}, dlid{};
    std::uint8_t sl = 0;
    wire::Qpn source{}, destination{};
    wire::PKey pkey{};
    wire::QKey qkey{};
    bool global = false;
    wire::Gid sgid{}, dgid{};  ///< only if global
    std::uint16_t payload_offset = 0, payload_size = 0;
};

#define VERBLINE_SOFT_IB_DISCARDS(X)                                                         \
    X(rx_dropped_foreign, "frames of another EtherType on a soft-fabric link")               \
    X(rx_dropped_truncated, "frames that end inside a header, or are shorter than they say") \
    X(rx_dropped_lrh, "frames whose LRH version, next header or length cannot be")           \
    X(rx_dropped_vcrc, "frames whose VCRC does not verify")                                  \
    X(rx_dropped_icrc, "frames whose ICRC does not verify")                                  \
    X(rx_dropped_bth, "frames whose BTH or GRH cannot be")                                   \
    X(rx_dropped_opcode, "packets that are not UD SENDs")

VERBLINE_COUNTER_ENUM(Discard, VERBLINE_SOFT_IB_DISCARDS)

/// Checks everything up to the BTH, and both CRCs; a frame padded to Ethernet's minimum is accepted.
std::expected<Parts, Discard> check(wire::Bytes frame) noexcept;

/// Checks everything that can be checked without knowing whose the packet is.
std::expected<Datagram, Discard> parse(wire::Bytes frame) noexcept;

}  // namespace verbline::link::soft_ib

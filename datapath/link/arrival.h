// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// How an InfiniBand transport packet is taken off each of its carriers (envelope.h puts it on): all that can be
/// checked without knowing whose it is, and what the headers in front of the BTH say.
///
/// Frames are contiguous and begin with the Ethernet header; they may be longer than the packet in them. Every function
/// but `open` takes a frame that `open` has accepted, with what it answered. Functions of their arguments only.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>

#include "datapath/link/envelope.h"
#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"
#include "pmd/base/counter.h"

namespace verbline::link {

#define VERBLINE_ARRIVAL_DISCARDS(X)                                                                       \
    X(rx_dropped_foreign, "frames that carry no InfiniBand packet, by EtherType, protocol or UDP port")    \
    X(rx_dropped_truncated, "frames that end inside a header, or are shorter than they say")               \
    X(rx_dropped_ip_version, "IP headers and GRHs of another version than they should be")                 \
    X(rx_dropped_ip_options, "RoCE packets whose IPv4 header has options")                                 \
    X(rx_dropped_ip_fragment, "fragments of IPv4 packets that are, or may be, RoCE")                       \
    X(rx_dropped_ip_checksum, "RoCE packets whose IPv4 header checksum does not verify")                   \
    X(rx_dropped_length, "packets whose lengths contradict each other or are none that a packet can have") \
    X(rx_dropped_grh, "packets whose GRH is followed by no BTH")                                           \
    X(rx_dropped_lrh, "packets whose LRH version, next header or length cannot be")                        \
    X(rx_dropped_vcrc, "packets whose VCRC does not verify")                                               \
    X(rx_dropped_icrc, "packets whose ICRC does not verify")                                               \
    X(rx_dropped_bth, "packets of another transport version, or with more padding than payload")

VERBLINE_COUNTER_ENUM(Discard, VERBLINE_ARRIVAL_DISCARDS)

/// A packet that arrived whole; offsets in the frame.
struct Arrival {
    Carrier carrier{};
    bool congestion_experienced = false;  ///< ECN of the IP header; FECN where there is none
    bool global = false;                  ///< false only on the soft fabric, without a GRH
    // Not packed: answered in registers, narrow members would be put together through memory, which stalls.
    std::uint32_t network_at = 0;  ///< the IP header or GRH; of a local packet, the LRH
    std::uint32_t bth_at = 0;
    std::uint32_t end = 0;  ///< one past payload and padding: where the ICRC is
};

/// Checks lengths, versions, checksums, ICRC and VCRC. The UDP checksum may be anything: the ICRC covers more.
std::expected<Arrival, Discard> open(wire::Bytes frame) noexcept;

/// The same in two steps: the headers in front of the BTH; then ICRC and what the BTH says of itself, if it may be
/// believed. Who receives several frames at a time does the first step for all and then the second for all: the CRCs of
/// small packets then overlap in the processor instead of each waiting for itself.
std::optional<Discard> open_headers(wire::Bytes frame, Arrival& out) noexcept;
std::optional<Discard> verify(wire::Bytes frame, const Arrival& arrival) noexcept;

constexpr std::size_t global_route_header_size = 40;
/// The last of the 40 bytes that a UD receiver is shown in front of the payload (IBTA volume 1, 11.4.1.2), where they
/// lie; those before them are zeros. GRH or IPv6 header; an IPv4 header, behind zeros (annex A17); nothing of a local
/// packet.
wire::Bytes route_header(wire::Bytes frame, const Arrival& arrival) noexcept;

/// True if a packet on a connection comes from where `envelope` leads to and is for where it comes from: addresses of
/// the network layer alone, LIDs of a local packet.
bool answers(wire::Bytes frame, const Arrival& arrival, const Envelope& envelope) noexcept;

/// IPv4 addresses as mapped GIDs; zeros of a local packet.
wire::Gid source_gid(wire::Bytes frame, const Arrival& arrival) noexcept;
wire::Gid destination_gid(wire::Bytes frame, const Arrival& arrival) noexcept;

wire::MacAddress source_mac(wire::Bytes frame) noexcept;
/// Nothing also for a tag that carries a priority alone (id 0).
std::optional<std::uint16_t> vlan(wire::Bytes frame, const Arrival& arrival) noexcept;
/// On RoCE the priority of the VLAN tag, without one 0.
std::uint8_t service_level(wire::Bytes frame, const Arrival& arrival) noexcept;
/// Zero on RoCE.
wire::Lid source_lid(wire::Bytes frame, const Arrival& arrival) noexcept;
wire::Lid destination_lid(wire::Bytes frame, const Arrival& arrival) noexcept;

}  // namespace verbline::link

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Decapsulates an InfiniBand transport packet from each of its carriers (envelope.h encapsulates): all checks that
/// need no queue pair state, and access to the headers in front of the BTH.
///
/// Frames are contiguous and begin with the Ethernet header; they may be longer than the packet in them. Functions
/// other than `open_headers` and `verify` take a frame that was accepted, with its Arrival. Pure functions.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "datapath/link/discard.h"
#include "datapath/link/envelope.h"
#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"

namespace verbline::link {

/// A valid received packet; offsets are from the start of the frame.
struct Arrival {
    Carrier carrier{};
    bool congestion_experienced = false;  ///< ECN of the IP header; FECN where there is none
    bool global = false;                  ///< false only on the soft fabric, without a GRH
    // Not narrower: the struct is returned in registers, and narrow members would be assembled in memory, which stalls.
    std::uint32_t network_at = 0;  ///< the IP header or GRH; of a local packet, the LRH
    std::uint32_t bth_at = 0;
    std::uint32_t end = 0;  ///< one past payload and padding: where the ICRC is
};

/// Two steps: lengths, versions and checksums of the headers in front of the BTH; then ICRC, VCRC, and the BTH's own
/// fields. Both return the reason to drop the packet, if any. The UDP checksum is ignored: the ICRC covers more. For a
/// burst, run the first step for all frames and then the second for all: the CRCs of small packets then overlap in the
/// processor.
std::optional<Discard> open_headers(wire::Bytes frame, Arrival& out) noexcept;
/// On a link that has a single carrier, untagged: any other EtherType is foreign.
std::optional<Discard> open_headers(wire::Bytes frame, Carrier carrier, Arrival& out) noexcept;
std::optional<Discard> verify(wire::Bytes frame, const Arrival& arrival) noexcept;

constexpr std::size_t global_route_header_size = 40;
/// The header that ends the 40 bytes in front of a UD receiver's payload (IBTA volume 1, 11.4.1.2), as a view into the
/// frame; the caller writes zeros before it. GRH or IPv6 header: 40 bytes; IPv4 header: 20 bytes (annex A17); empty for
/// a local packet.
wire::Bytes route_header(wire::Bytes frame, const Arrival& arrival) noexcept;

/// True if the packet's source is the destination of `envelope`, and its destination the envelope's source. Compares
/// network-layer addresses only, or the LIDs of a local packet.
bool answers(wire::Bytes frame, const Arrival& arrival, const Envelope& envelope) noexcept;

/// IPv4 addresses as mapped GIDs; all zero for a local packet.
wire::Gid source_gid(wire::Bytes frame, const Arrival& arrival) noexcept;
wire::Gid destination_gid(wire::Bytes frame, const Arrival& arrival) noexcept;

wire::MacAddress source_mac(wire::Bytes frame) noexcept;
/// The VLAN id; none for an untagged frame or a priority tag (id 0).
std::optional<std::uint16_t> vlan(wire::Bytes frame, const Arrival& arrival) noexcept;
/// On RoCE the VLAN tag's priority, or 0 without a tag.
std::uint8_t service_level(wire::Bytes frame, const Arrival& arrival) noexcept;
/// Zero on RoCE.
wire::Lid source_lid(wire::Bytes frame, const Arrival& arrival) noexcept;
wire::Lid destination_lid(wire::Bytes frame, const Arrival& arrival) noexcept;

}  // namespace verbline::link

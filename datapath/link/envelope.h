// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Encapsulates an InfiniBand transport packet, from its BTH on, for each of its carriers. arrival.h decapsulates it.
///
///     RoCE v2    Ethernet  (VLAN)  IPv4 or IPv6  UDP  | BTH ... payload  pad | ICRC            IBTA annex A17
///     RoCE v1    Ethernet  (VLAN)  GRH                | BTH ... payload  pad | ICRC            annex A16
///     soft IB    Ethernet  LRH  (GRH)                 | BTH ... payload  pad | ICRC  VCRC      soft_ib.h
///                └──────────── Envelope ─────────────┘                         └─ trailer ─┘
///
/// An envelope is built once per destination, when a queue pair is connected or an address handle created;
/// `write_headers` copies it in front of each packet and fills in the fields that differ per packet. Pure functions.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "datapath/link/soft_ib.h"
#include "datapath/wire/address_handle.h"
#include "datapath/wire/bytes.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/icrc.h"
#include "datapath/wire/types.h"

namespace verbline::link {

enum class Carrier : std::uint8_t { roce_v2_ipv4, roce_v2_ipv6, roce_v1, soft_ib };

constexpr wire::EtherType ether_type_of(Carrier carrier) {
    switch (carrier) {
        case Carrier::roce_v2_ipv4: return wire::ether_type::ipv4;
        case Carrier::roce_v2_ipv6: return wire::ether_type::ipv6;
        case Carrier::roce_v1: return wire::ether_type::roce_v1;
        case Carrier::soft_ib: return wire::ether_type::soft_ib;
    }
    std::unreachable();
}

/// Bytes behind the padding: ICRC, and VCRC where there is one.
constexpr std::size_t trailer_size(Carrier carrier) {
    return carrier == Carrier::soft_ib ? soft_ib::trailer_size : wire::icrc_size;
}

/// All headers in front of the BTH towards one destination, without lengths and the fields that depend on them.
struct Envelope {
    static constexpr std::size_t capacity = 72;

    Carrier carrier{};
    std::uint8_t covered_at = 0;  ///< where the ICRC begins: the IP header, the GRH, or the LRH of a local packet
    std::uint8_t size = 0;        ///< offset of the BTH
    std::uint32_t ip_sum = 0;     ///< sum of the 16-bit words of the IPv4 header as stored here, open fields being zero
    std::array<std::byte, capacity> bytes{};

    wire::Bytes view() const { return wire::Bytes(bytes).first(size); }
};

/// The sending end: an entry of the GID table, and further properties of its port.
struct SourceAddress {
    Carrier carrier{};
    wire::MacAddress mac{};             ///< RoCE; on the soft fabric it is derived from the LID
    std::optional<std::uint16_t> vlan;  ///< RoCE: id of the tag, 12 bits
    bool ecn = false;                   ///< RoCE v2: marked ECT(0), so that routers mark instead of drop (RFC 3168, 5)
    wire::Gid gid{};                    ///< for roce_v2_ipv4 a mapped address (ip_gid.h)
    wire::Lid lid{};                    ///< soft fabric

    bool operator==(const SourceAddress&) const = default;
};

/// Builds the envelope from `from` to `to`. RoCE always uses `to.dgid`; the service level becomes the priority of the
/// VLAN tag, the traffic class that of the IP header (with `ecn`, its two lower bits are replaced), and over IP a hop
/// limit of 0 becomes 64. `to_mac` and `source_port` (UDP) are ignored if the carrier has no such field.
Envelope make_envelope(const SourceAddress& from, const wire::AddressHandle& to, wire::MacAddress to_mac,
                       std::uint16_t source_port);

/// The UDP source port of a connection, which keeps its packets on one ECMP path and spreads connections: derived from
/// the flow label, or if that is 0 from both queue pair numbers, with the same result on both ends. As Linux does; in
/// 0xc000..0xffff.
std::uint16_t udp_source_port(std::uint32_t flow_label, wire::Qpn local, wire::Qpn remote);

/// The Ethernet address of a multicast group on a RoCE carrier (RFC 1112, 6.4; RFC 2464, 7).
wire::MacAddress multicast_mac(Carrier carrier, const wire::Gid& group);

/// Completes a frame in place that already holds BTH, payload and padding: frame.size() == envelope.size + (BTH through
/// padding, a multiple of four) + trailer_size(envelope.carrier). `ip_id` is used for IPv4 only, where it has no
/// meaning since DF is set (RFC 6864, 4.1). Two steps: the envelope with lengths, identification and checksum; then
/// ICRC and VCRC. For a burst, run the first step for all frames and then the second for all, which halves the cost of
/// small ones: a CRC over bytes that were just stored in smaller pieces stalls until the stores complete (failed store
/// forwarding).
void write_headers(std::span<std::byte> frame, const Envelope& envelope, std::uint16_t ip_id) noexcept;

/// What sealing needs of an envelope. Kept with a copy of its bytes, it replaces the envelope.
struct Sealing {
    Carrier carrier{};
    std::uint8_t covered_at = 0;
    std::uint32_t ip_sum = 0;
};
constexpr Sealing sealing_of(const Envelope& envelope) {
    return {envelope.carrier, envelope.covered_at, envelope.ip_sum};
}
/// `write_headers` without its first half: the frame holds the envelope already.
void write_lengths(std::span<std::byte> frame, const Sealing& sealing, std::uint16_t ip_id) noexcept;
void write_crcs(std::span<std::byte> frame, Sealing sealing) noexcept;

}  // namespace verbline::link

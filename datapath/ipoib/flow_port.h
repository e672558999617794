// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The UDP source port of an IP packet carried by RoCE v2: a hash of its flow, so that receive queues and equal-cost
/// paths, which know only the outer headers, spread the flows inside (IBTA annex A17).

#include <cstdint>

#include "datapath/wire/bytes.h"
#include "datapath/wire/ip.h"
#include "datapath/wire/ipv4.h"

namespace verbline::ipoib {

/// Of a packet that begins at its IP header; in 0xc000..0xffff, as link::udp_source_port. Fragments count by their
/// addresses alone, and what is not IPv4 (ARP) is one flow.
constexpr std::uint16_t flow_port(wire::Bytes packet) noexcept {
    constexpr std::uint64_t multiplier = 0x9e37'79b9'7f4a'7c15;  // 2^64 by the golden ratio (Knuth, 6.4)
    constexpr std::uint32_t lowest = 0xc000, fragment = 0x3fff, version_4_without_options = 0x45;
    constexpr std::size_t protocol_at = 9, source_at = 12, destination_at = 16;
    if (packet.size() < wire::Ipv4::size || wire::load8(packet, 0) >> 4 != 4) return lowest;
    std::uint64_t flow = std::uint64_t{wire::load32(packet, source_at)} << 32 | wire::load32(packet, destination_at);
    const auto protocol = static_cast<wire::IpProtocol>(wire::load8(packet, protocol_at));
    const bool has_ports = (protocol == wire::IpProtocol::tcp || protocol == wire::IpProtocol::udp) &&
                           packet.size() >= wire::Ipv4::size + 4 &&
                           wire::load8(packet, 0) == version_4_without_options &&
                           (wire::load16(packet, 6) & fragment) == 0;
    flow *= multiplier;
    if (has_ports) flow = (flow ^ wire::load32(packet, wire::Ipv4::size)) * multiplier;
    return static_cast<std::uint16_t>(lowest | flow >> 50);
}

}  // namespace verbline::ipoib

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The UDP source port of an IP packet carried by RoCE v2: a hash of its flow, so that receive queues and equal-cost
/// paths, which know only the outer headers, spread the flows inside (IBTA annex A17).

#include <cstdint>

#include "datapath/wire/bytes.h"
#include "datapath/wire/header.h"
#include "datapath/wire/ip.h"
#include "datapath/wire/ipv4.h"

namespace verbline::ipoib {

/// The UDP source port for a packet that begins at its IP header: 0xc000..0xffff, as link::udp_source_port. Fragments
/// are hashed by their addresses alone; all packets other than IPv4 (ARP) are one flow.
constexpr std::uint16_t flow_port(wire::Bytes packet) noexcept {
    constexpr std::uint64_t multiplier = 0x9e37'79b9'7f4a'7c15;  // 2^64 by the golden ratio (Knuth, 6.4)
    constexpr std::uint32_t lowest = 0xc000;
    constexpr std::uint8_t words_without_options = wire::Ipv4::size / 4;
    using wire::Ipv4;
    const auto ip = wire::View<Ipv4>::over(packet);
    if (!ip || Ipv4::Layout::refusal(ip->bytes())) return lowest;
    std::uint64_t flow = static_cast<std::uint64_t>(ip->get<&Ipv4::source>()) << 32 |
                         static_cast<std::uint32_t>(ip->get<&Ipv4::destination>());
    const auto protocol = ip->get<&Ipv4::protocol>();
    const bool has_ports = (protocol == wire::IpProtocol::tcp || protocol == wire::IpProtocol::udp) &&
                           packet.size() >= Ipv4::size + 4 && ip->get<&Ipv4::header_words>() == words_without_options &&
                           !ip->get<&Ipv4::more_fragments>() && ip->get<&Ipv4::fragment_offset>() == 0;
    flow *= multiplier;
    if (has_ports) flow = (flow ^ wire::load32(packet, Ipv4::size)) * multiplier;
    return static_cast<std::uint16_t>(lowest | flow >> 50);
}

}  // namespace verbline::ipoib

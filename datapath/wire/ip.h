// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What IPv4 and IPv6 have in common: the numbers of the protocols they carry (IANA) and congestion marks (RFC 3168).

#include <cstdint>

namespace verbline::wire {

enum class IpProtocol : std::uint8_t {
    hop_by_hop = 0,
    icmp = 1,
    igmp = 2,
    ipv4 = 4,  ///< a packet in a packet
    tcp = 6,
    udp = 17,
    ipv6 = 41,
    routing = 43,
    fragment = 44,
    gre = 47,
    icmpv6 = 58,
    destination_options = 60,
};
enum class Ecn : std::uint8_t { not_capable = 0, capable_1 = 1, capable_0 = 2, congestion_experienced = 3 };

}  // namespace verbline::wire

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The first 40 bytes of a UD receive buffer, as a packet from a peer leaves them: its GRH or IPv6 header, or its IPv4
/// header in the last 20 of them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "datapath/wire/bytes.h"
#include "datapath/wire/grh.h"
#include "datapath/wire/ipv4.h"

namespace verbline::test::receive_area {

using Area = std::array<std::byte, wire::Grh::size>;

inline constexpr wire::Ipv4Address peer{0x0a000002}, ours{0x0a000001};
inline constexpr auto udp = std::to_underlying(wire::IpProtocol::udp);

/// A link-local GID.
constexpr wire::Gid gid(std::uint8_t last) {
    return wire::Gid::of(wire::default_subnet_prefix, wire::Guid{last});
}

/// From `peer` to us, with a congestion mark; without its checksum.
inline constexpr wire::Ipv4 ip_header{.dscp = 26,
                                      .ecn = wire::Ecn::congestion_experienced,
                                      .total_length = 1052,
                                      .dont_fragment = true,
                                      .protocol = wire::IpProtocol::udp,
                                      .source = peer,
                                      .destination = ours};

/// What stands before the IPv4 header was there already.
inline Area over_ipv4(const wire::Ipv4& header, std::byte before = std::byte{0x6f}) {
    Area area;
    area.fill(before);
    header.emit(std::span(area).last<wire::Ipv4::size>());
    return area;
}

inline Area over_grh(const wire::Grh& grh) {
    Area area;
    grh.emit(area);
    return area;
}

}  // namespace verbline::test::receive_area

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Router solicitations and advertisements as whole IPv6 packets, from the IPv6 header on (RFC 4861, 4.1 and 4.2; the
/// link-layer address option of IPoIB: RFC 4391, 9.3). Functions of their arguments.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "datapath/neighbour/link_address.h"
#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"

namespace verbline::neighbour {

constexpr auto all_routers = wire::Gid::of(0xff02'0000'0000'0000, wire::Guid{2});  // RFC 4291, 2.7.1

/// A network of the link, from which hosts make addresses of their own (RFC 4862, 5.5).
struct AdvertisedPrefix {
    wire::Ipv6Prefix prefix;
    bool autonomous = true;             ///< hosts may; only of 64 bits does the interface identifier fit
    std::uint32_t valid = 2'592'000;    ///< seconds: AdvValidLifetime
    std::uint32_t preferred = 604'800;  ///< seconds: AdvPreferredLifetime
    bool operator==(const AdvertisedPrefix&) const = default;
};

/// What a router says of itself and of its link, with the defaults of RFC 4861, 6.2.1.
struct Advertisement {
    wire::Ipv6Address source;       ///< its link-local address
    std::optional<LinkAddress> at;  ///< its link-layer address, which may be left out (RFC 4861, 6.2.3)
    std::uint16_t lifetime = 1800;  ///< seconds, as a default router; 0: none, or no longer
    std::uint32_t mtu = 0;          ///< of the link; 0: not said
    std::vector<AdvertisedPrefix> prefixes;
    bool operator==(const Advertisement&) const = default;
};

/// So many prefixes are sent at most: what fits in a packet of 1280 bytes, which every link carries (RFC 8200, 5).
constexpr std::size_t max_advertised_prefixes = 37;

/// The packet to all nodes.
std::vector<std::byte> write_advertisement(const Advertisement& advertisement);

enum class Solicitation : std::uint8_t { none, malformed, valid };
/// Whether the packet is a router solicitation, and a valid one (RFC 4861, 6.1.1). Address: MacAddress, IpoibAddress.
template <class Address>
Solicitation read_solicitation(wire::Bytes packet);

}  // namespace verbline::neighbour

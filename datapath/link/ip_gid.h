// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// GIDs that are IP addresses: an IPv6 address as it is, an IPv4 address mapped into IPv6 as ::ffff:a.b.c.d (IBTA
/// annex A17).

#include <cstddef>
#include <cstdint>
#include <optional>

#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"

namespace verbline::link {

constexpr std::size_t ipv4_in_gid = 12;  ///< where a mapped address begins

constexpr wire::Gid gid_of(wire::Ipv4Address address) {
    wire::Gid gid;
    wire::store16(gid.bytes, ipv4_in_gid - 2, 0xffff);
    wire::store32(gid.bytes, ipv4_in_gid, static_cast<std::uint32_t>(address));
    return gid;
}

constexpr wire::Gid gid_of(const wire::Ipv6Address& address) {
    return {address.bytes};
}

/// The GID's bytes as an IPv6 address, unchecked.
constexpr wire::Ipv6Address ipv6_of(const wire::Gid& gid) {
    return {gid.bytes};
}

/// Whether a GID is a mapped IPv4 address.
constexpr bool is_mapped(const wire::Gid& gid) {
    return wire::load64(gid.bytes, 0) == 0 && wire::load32(gid.bytes, ipv4_in_gid - 4) == 0xffff;
}

constexpr std::optional<wire::Ipv4Address> ipv4_of(const wire::Gid& gid) {
    if (!is_mapped(gid)) return std::nullopt;
    return wire::Ipv4Address{wire::load32(gid.bytes, ipv4_in_gid)};
}

/// Whether a GID is a multicast group's: of IPv6 and IPoIB, ff00::/8, or a mapped IPv4 group address.
constexpr bool is_group(const wire::Gid& gid) {
    if (is_mapped(gid)) return wire::is_multicast(wire::Ipv4Address{wire::load32(gid.bytes, ipv4_in_gid)});
    return gid.multicast();
}

}  // namespace verbline::link

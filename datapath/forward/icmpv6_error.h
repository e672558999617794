// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Builds the ICMPv6 errors of a router (RFC 4443) from the packets that cause them.
///
///     +-----------+------------+------------------------------------------------+
///     | IPv6 (40) | ICMPv6 (8) | the offending packet from its IPv6 header on   |   1280 bytes at most (2.4 (c))
///     +-----------+------------+------------------------------------------------+

#include <cstdint>

#include "datapath/wire/icmpv6.h"
#include "datapath/wire/types.h"

struct rte_mbuf;
struct rte_mempool;

namespace verbline::forward {

struct Icmpv6Error {
    std::uint8_t type = 0, code = 0;
    std::uint32_t mtu = 0;  ///< of the next hop; only for "packet too big"

    static constexpr Icmpv6Error time_exceeded() { return {wire::icmpv6_type::time_exceeded, 0}; }
    static constexpr Icmpv6Error no_route() { return {wire::icmpv6_type::unreachable, 0}; }
    static constexpr Icmpv6Error beyond_scope() { return {wire::icmpv6_type::unreachable, 2}; }
    static constexpr Icmpv6Error address_unreachable() { return {wire::icmpv6_type::unreachable, 3}; }
    static constexpr Icmpv6Error packet_too_big(std::uint32_t mtu) {
        return {wire::icmpv6_type::packet_too_big, 0, mtu};
    }
};

/// Returns a new packet to the sender of `offending`, which begins at its IPv6 header and stays the caller's. `source`
/// is a local address. Null if no mbuf is free, or an error must not be sent (RFC 4443, 2.4 (e)): `offending` is itself
/// an ICMPv6 error or a redirect, not from a single host, or sent to a group, for which only "packet too big" is
/// allowed. The caller checks that it did not arrive as a link-layer broadcast.
rte_mbuf* icmpv6_error(const rte_mbuf& offending, const Icmpv6Error& error, const wire::Ipv6Address& source,
                       rte_mempool& pool);

}  // namespace verbline::forward

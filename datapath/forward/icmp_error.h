// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Builds the ICMP errors of a router (RFC 792, RFC 1812, 4.3 and 5.2.7) from the packets that cause them.
///
///     +-----------+------+----------------------------------------------+
///     | IPv4 (20) | ICMP | the offending packet from its IP header on   |   576 bytes at most (RFC 1812, 4.3.2.3)
///     +-----------+------+----------------------------------------------+

#include <cstdint>

#include "datapath/wire/icmp.h"
#include "datapath/wire/types.h"

struct rte_mbuf;
struct rte_mempool;

namespace verbline::forward {

struct IcmpError {
    std::uint8_t type = 0, code = 0;
    std::uint16_t mtu = 0;  ///< of the next hop; only for "fragmentation needed"

    static constexpr IcmpError time_exceeded() { return {wire::icmp_type::time_exceeded, 0}; }
    static constexpr IcmpError net_unreachable() { return unreachable(wire::icmp_unreachable::net); }
    static constexpr IcmpError host_unreachable() { return unreachable(wire::icmp_unreachable::host); }
    static constexpr IcmpError fragmentation_needed(std::uint32_t mtu) {
        auto error = unreachable(wire::icmp_unreachable::fragmentation_needed);
        error.mtu = static_cast<std::uint16_t>(mtu < 0xffff ? mtu : 0xffff);
        return error;
    }

private:
    static constexpr IcmpError unreachable(std::uint8_t code) { return {wire::icmp_type::unreachable, code}; }
};

/// Returns a new packet to the sender of `offending`, which begins at its IP header and stays the caller's. `source` is
/// a local address. Null if no mbuf is free, or an error must not be sent (RFC 1812, 4.3.2.7): `offending` is itself an
/// ICMP error, a fragment other than the first, sent to multicast or broadcast, or not from a single host. The caller
/// checks that it did not arrive as a link-layer broadcast.
rte_mbuf* icmp_error(const rte_mbuf& offending, const IcmpError& error, wire::Ipv4Address source, rte_mempool& pool);

}  // namespace verbline::forward

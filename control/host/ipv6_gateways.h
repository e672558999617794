// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// IPv6 gateways of IPv4 routes (RFC 8950, 4; RTA_VIA).
///
/// A gateway's IP address is in no packet; only its link-layer address is. Forwarding knows the gateways of IPv4 routes
/// by IPv4 addresses, eight next hops to a cache line; to a gateway that has none it is given a stand-in, of the
/// loopback network, which no link carries (RFC 1122, 3.2.1.3 (g)):
///
///     kernel ── RTA_VIA ──> RouteMirror ── stand-in ──> forward::Fib ──> shard ── Unresolved ──> ControlPort ──> ND
///
/// A gateway keeps its stand-in permanently, as a shard may use it at any time. Owned by the control thread.

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "datapath/wire/types.h"

namespace verbline::host {

class Ipv6Gateways {
public:
    static constexpr std::size_t max = 65'536;

    /// The gateway's stand-in, new or not; none, if there have been too many gateways.
    std::optional<wire::Ipv4Address> add(const wire::Ipv6Address& gateway);
    /// The gateway's stand-in, if it has one.
    std::optional<wire::Ipv4Address> find(const wire::Ipv6Address& gateway) const;
    /// The gateway for which an address stands in; none: for none.
    std::optional<wire::Ipv6Address> gateway_of(wire::Ipv4Address stand_in) const;

private:
    std::vector<wire::Ipv6Address> gateways_;  ///< in the order of their stand-ins
    std::map<wire::Ipv6Address, wire::Ipv4Address> stand_ins_;
};

}  // namespace verbline::host

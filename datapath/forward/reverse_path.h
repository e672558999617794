// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Ingress filtering by the forwarding table (RFC 3704): whether the route back to a packet's source lets the packet be
/// from there.

#include <cstdint>

#include "datapath/forward/next_hop.h"

namespace verbline::forward {

enum class ReversePathFilter : std::uint8_t {
    off,
    strict,  ///< the route to the source leads out of the interface on which the packet arrived (RFC 3704, 2.2)
    loose,   ///< there is a route to the source, possibly the default route (RFC 3704, 2.4)
};

/// Whether a packet that arrived on `arrival` may be from a source to which the route is `back`. This router's own
/// addresses and sources without a route pass neither check.
template <class Address>
constexpr bool passes(ReversePathFilter check, const BasicNextHop<Address>& back, InterfaceId arrival) {
    if (check == ReversePathFilter::off) return true;
    return leads_out(back.kind) && (check == ReversePathFilter::loose || back.interface == arrival);
}

}  // namespace verbline::forward

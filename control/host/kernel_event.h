// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the kernel says of links, IPv4 addresses and IPv4 routes, as values.
///
/// `Resync` means: forget everything, the truth follows; up to `Synced` the picture is incomplete and nothing should be
/// concluded from what is missing. A receiver begins as if it had just heard `Resync`.
///
/// An event may repeat what is known already (a change seen both in a dump and as a message): receivers are idempotent.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <linux/rtnetlink.h>

#include "datapath/wire/types.h"

namespace verbline::host {

struct Link {
    int ifindex = 0;
    std::string name;
    bool up = false;  ///< administratively (IFF_UP): on this the kernel's routes depend, not on the carrier
    std::uint32_t mtu = 0;
};

/// One way out of a route.
struct Hop {
    int ifindex = 0;
    wire::Ipv4Address gateway{};  ///< 0: the destination is on the link
    bool usable = true;           ///< false: the kernel has declared it dead, or the gateway is no IPv4 address
    bool operator==(const Hop&) const = default;
};

/// A route as the kernel tells routes apart: two that differ in any member can exist side by side.
struct Route {
    wire::Ipv4Prefix prefix{};
    std::uint32_t table = RT_TABLE_MAIN;
    std::uint32_t metric = 0;
    std::uint8_t tos = 0;
    std::uint8_t type = RTN_UNICAST;
    std::uint8_t protocol = RTPROT_UNSPEC;
    wire::Ipv4Address preferred_source{};
    std::vector<Hop> hops;  ///< none for blackhole, unreachable, prohibit; several: multipath
    bool operator==(const Route&) const = default;
};

/// Where a route goes among those of equal prefix, table, TOS and metric, of which the kernel uses the first.
enum class Place : std::uint8_t { first, last, instead_of_first };

struct LinkChanged {
    Link link;
};
struct LinkRemoved {
    int ifindex;
};
struct AddressAdded {
    int ifindex;
    wire::Ipv4Prefix address;
};
struct AddressRemoved {
    int ifindex;
    wire::Ipv4Prefix address;
};
struct RouteAdded {
    Route route;
    Place place = Place::first;
};
struct RouteRemoved {
    Route route;
};
struct Resync {};
struct Synced {};

using KernelEvent =
    std::variant<LinkChanged, LinkRemoved, AddressAdded, AddressRemoved, RouteAdded, RouteRemoved, Resync, Synced>;

}  // namespace verbline::host

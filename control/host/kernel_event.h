// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Changes of the kernel's links, IPv4 addresses and IPv4 routes, as values.
///
/// `Resync`: discard all state, a full dump follows; until `Synced` the state is incomplete, and absence of an object
/// means nothing. A receiver starts as if it had just received `Resync`.
///
/// An event may repeat known state (a change seen both in a dump and as a notification): receivers are idempotent.

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
    bool up = false;  ///< administratively (IFF_UP), on which the kernel's routes depend; not the carrier
    std::uint32_t mtu = 0;
};

/// One next hop of a route.
struct Hop {
    int ifindex = 0;
    wire::Ipv4Address gateway{};  ///< 0: the destination is on the link
    bool usable = true;           ///< false: the kernel has declared it dead, or the gateway is no IPv4 address
    bool operator==(const Hop&) const = default;
};

/// A route with the attributes by which the kernel distinguishes routes: two that differ in any member can coexist.
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

/// Position of a route among those of equal prefix, table, TOS and metric, of which the kernel uses the first.
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

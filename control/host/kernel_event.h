// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Changes of the kernel's links, IP addresses, next-hop objects and routes, as values.
///
/// `Resync`: discard all state, a full dump follows; until `Synced` the state is incomplete, and absence of an object
/// means nothing. A receiver starts as if it had just received `Resync`.
///
/// An event may repeat known state (a change seen both in a dump and as a notification): receivers are idempotent.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <linux/rtnetlink.h>

#include "datapath/link/interface_address.h"
#include "datapath/wire/types.h"

namespace verbline::host {

struct Link {
    int ifindex = 0;
    std::string name;
    bool up = false;      ///< administratively (IFF_UP), on which the kernel's routes depend
    bool carrier = true;  ///< on which its next-hop objects depend as well
    std::uint32_t mtu = 0;
};

/// One next hop of a route. Address: wire::Ipv4Address or wire::Ipv6Address.
template <class Address>
struct BasicHop {
    int ifindex = 0;
    Address gateway{};   ///< 0: the destination is on the link
    bool usable = true;  ///< false: the kernel has declared it dead, or its gateway is of no family of ours
    std::optional<wire::Ipv6Address> ipv6_gateway{};  ///< of an IPv4 route, instead of `gateway`
    std::uint32_t weight = 1;                         ///< among the hops of its route
    bool operator==(const BasicHop&) const = default;
};

/// A route with the attributes by which the kernel distinguishes routes: two that differ in any member can coexist.
template <class Address>
struct BasicRoute {
    wire::PrefixOf<Address> prefix{};
    std::uint32_t table = RT_TABLE_MAIN;
    std::uint32_t metric = 0;
    std::uint8_t tos = 0;
    std::uint8_t type = RTN_UNICAST;
    std::uint8_t protocol = RTPROT_UNSPEC;
    Address preferred_source{};
    std::uint32_t next_hop_id = 0;  ///< of the object that counts instead of `hops`, which may be none; 0: of none
    std::vector<BasicHop<Address>> hops;  ///< none for blackhole, unreachable, prohibit; several: multipath
    bool operator==(const BasicRoute&) const = default;
};
using Hop = BasicHop<wire::Ipv4Address>;
using Route = BasicRoute<wire::Ipv4Address>;
using Ipv6Hop = BasicHop<wire::Ipv6Address>;
using Ipv6Route = BasicRoute<wire::Ipv6Address>;

/// What routes refer to by number (`ip nexthop`): a hop, a group, or a hole into which packets fall.
struct NextHopObject {
    struct Member {
        std::uint32_t id = 0;
        std::uint32_t weight = 1;
        bool operator==(const Member&) const = default;
    };

    std::uint32_t id = 0;
    bool blackhole = false;
    Hop hop{};                  ///< of routes of either family: an IPv6 gateway is `ipv6_gateway`
    std::vector<Member> group;  ///< if there are any, they count instead of `hop`
    bool operator==(const NextHopObject&) const = default;
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
    link::InterfaceAddress address;
    bool certain = false;  ///< added to be used without duplicate address detection (IFA_F_NODAD)
};
struct AddressRemoved {
    int ifindex;
    link::InterfaceAddress address;
};
struct NextHopChanged {
    NextHopObject object;
};
struct NextHopRemoved {
    std::uint32_t id;
};
template <class Address>
struct BasicRouteAdded {
    BasicRoute<Address> route;
    Place place = Place::first;
};
template <class Address>
struct BasicRouteRemoved {
    BasicRoute<Address> route;
};
using RouteAdded = BasicRouteAdded<wire::Ipv4Address>;
using RouteRemoved = BasicRouteRemoved<wire::Ipv4Address>;
using Ipv6RouteAdded = BasicRouteAdded<wire::Ipv6Address>;
using Ipv6RouteRemoved = BasicRouteRemoved<wire::Ipv6Address>;
struct Resync {};
struct Synced {};

using KernelEvent = std::variant<LinkChanged, LinkRemoved, AddressAdded, AddressRemoved, NextHopChanged, NextHopRemoved,
                                 RouteAdded, RouteRemoved, Ipv6RouteAdded, Ipv6RouteRemoved, Resync, Synced>;

}  // namespace verbline::host

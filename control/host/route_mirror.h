// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Mirrors the kernel's routes over interfaces that are ours into the FIB.
///
/// The kernel is authoritative: a route is used as long as the kernel has it, however added (an address, `ip
/// route`, a routing daemon). No event has a special case: events update the known routes, and `reconcile` compares,
/// prefix by prefix, the best route with what was last emitted to the FIB.
///
///     kernel events ──>  routes, links, next-hop objects ┐
///                                                        ├─ reconcile ──> Set, Unset ──> forward::Fib
///     attach, detach ──> interfaces                      ┘
///
/// Of the routes of one prefix the local table's come first, then main, then default; within a table the lowest metric,
/// and then the kernel's own order. A route is passed over if it is not usable by us: a link that is down or not
/// ours, a TOS (routes with one are ignored). Of a multipath route all usable hops are taken, by their weights; of one
/// that refers to a next-hop object those of the object, as they are at any time.
/// Gateways of IPv4 routes that are IPv6 ones get stand-ins (ipv6_gateways.h). An address of any interface, ours or
/// not, is local. One deviation: the tables are merged, so that a longer prefix in main wins over a shorter one in the
/// local table, where the kernel would look no further.
///
/// Between Resync and Synced nothing is changed, so the FIB goes on with what it has. Pure: no I/O. Owned by the
/// control thread.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <variant>
#include <vector>

#include "control/host/ipv6_gateways.h"
#include "control/host/kernel_event.h"
#include "control/host/next_hop_objects.h"
#include "control/host/prefix_routes.h"
#include "datapath/forward/next_hop.h"
#include "datapath/forward/next_hop_group.h"
#include "pmd/base/counter.h"

namespace verbline::host {

#define VERBLINE_ROUTE_MIRROR_COUNTERS(X)                                     \
    X(routes_multipath, "routes received that have several next hops")        \
    X(routes_ignored_tos, "routes ignored because they are for one TOS only") \
    X(routes_ignored_table, "routes ignored in tables other than local, main and default")

struct RouteMirrorCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_ROUTE_MIRROR_COUNTERS)
};

/// Of one family: Address is wire::Ipv4Address or wire::Ipv6Address.
template <class Address>
class BasicRouteMirror {
public:
    using Prefix = wire::PrefixOf<Address>;
    using NextHop = forward::BasicNextHop<Address>;
    using NextHops = forward::BasicNextHopGroup<Address>;

    struct Set {
        Prefix prefix;
        NextHops next_hops;
    };
    struct Unset {
        Prefix prefix;
    };
    using Action = std::variant<Set, Unset>;
    using Actions = std::vector<Action>;

    /// `ipv6_gateways` must outlive the mirror; null: IPv4 routes by way of IPv6 gateways are passed over.
    explicit BasicRouteMirror(Ipv6Gateways* ipv6_gateways = nullptr) : ipv6_gateways_(ipv6_gateways) {}

    /// Maps the kernel's interface `ifindex` to our interface `id`.
    Actions attach(int ifindex, forward::InterfaceId id);
    Actions detach(int ifindex);
    Actions received(const KernelEvent& event);

    const RouteMirrorCounters& counters() const { return counters_; }

private:
    using Route = BasicRoute<Address>;
    using Routes = BasicPrefixRoutes<Address>;
    using RouteAdded = BasicRouteAdded<Address>;
    using RouteRemoved = BasicRouteRemoved<Address>;
    using Members = std::vector<typename NextHops::Member>;
    struct Slot {
        Routes routes;
        std::optional<NextHops> published;
    };
    using Slots = std::map<Prefix, Slot>;

    void link(int ifindex, bool up, Actions& out);
    void add(const RouteAdded& added, Actions& out);
    void remove(const Route& route, Actions& out);
    void change(std::uint32_t next_hop_id, Actions& out);
    void forget();

    std::optional<NextHops> wanted(const Slot& slot) const;
    Members members(const Route& route) const;
    Members members(const Route& route, std::span<const BasicHop<Address>> hops) const;
    std::optional<Address> gateway_of(const BasicHop<Address>& hop) const;
    typename Slots::iterator reconcile(typename Slots::iterator slot, Actions& out);
    void reconcile_all(Actions& out);

    Ipv6Gateways* ipv6_gateways_;
    Slots slots_;
    std::map<int, forward::InterfaceId> ours_;
    std::set<int> up_;
    NextHopObjects objects_;
    std::set<std::uint32_t> referred_to_;  ///< objects to which a route has referred
    bool synced_ = false;
    RouteMirrorCounters counters_;
};

extern template class BasicRouteMirror<wire::Ipv4Address>;
extern template class BasicRouteMirror<wire::Ipv6Address>;
using RouteMirror = BasicRouteMirror<wire::Ipv4Address>;
using Ipv6RouteMirror = BasicRouteMirror<wire::Ipv6Address>;

}  // namespace verbline::host

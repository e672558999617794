// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The kernel's routes of one prefix, in the order in which the kernel prefers them: by table, by metric, then in an
/// order of its own. The hops of an IPv6 route are routes of their own, as in the kernel, which adds and removes them
/// one by one; those of a next-hop object are not.

#include <cstdint>
#include <vector>

#include "control/host/kernel_event.h"
#include "datapath/wire/types.h"

namespace verbline::host {

/// Address: wire::Ipv4Address or wire::Ipv6Address.
template <class Address>
class BasicPrefixRoutes {
public:
    using Route = BasicRoute<Address>;

    /// Whether the kernel's own rules consult the table (ip rule). Routes in others must not be added.
    static bool consults(std::uint32_t table);
    /// Whether the kernel shares packets between the two: IPv6 routes of equal preference that have gateways, whoever
    /// added them, but for those that routers advertise, which are alternatives (RFC 4191).
    static bool share(const Route& one, const Route& other);

    void add(const Route& route, Place place);
    /// A route that is not there is passed over.
    void remove(const Route& route);
    void clear() { routes_.clear(); }

    bool empty() const { return routes_.empty(); }
    /// Best first.
    auto begin() const { return routes_.begin(); }
    auto end() const { return routes_.end(); }

private:
    void insert(const Route& route, Place place);
    void remove_replaced(const Route& route);
    void take_out(const Route& route);

    std::vector<Route> routes_;
};

extern template class BasicPrefixRoutes<wire::Ipv4Address>;
extern template class BasicPrefixRoutes<wire::Ipv6Address>;

}  // namespace verbline::host

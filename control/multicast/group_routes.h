// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Computes the routes of multicast groups from the listeners of all ports:
///
///     listeners of every port ──> GroupRoutes ──┬─> Route: links and kernels that get the group ──> shards
///                                               └─> Use: whether a port receives the group, sends to it
///
/// A port receives a group if its kernel listens, or if another port has listeners; it sends to a group if its link has
/// listeners. A group of link scope is received for the kernel only.
///
/// On an InfiniBand subnet, programs may join a group at the subnet administrator (SA) without a report on the link.
/// The SA reports whether a group exists, but not its other members once we are a member: while a port receives such a
/// group, it also sends to it.
///
/// Pure, one thread.

#include <cstddef>
#include <cstdint>
#include <map>
#include <variant>
#include <vector>

#include "datapath/forward/interface_id.h"
#include "datapath/wire/types.h"

namespace verbline::multicast {

using forward::InterfaceId;
/// A bit for each port, by its InterfaceId.
using PortSet = std::uint64_t;

constexpr PortSet bit(InterfaceId port) {
    return PortSet{1} << static_cast<unsigned>(port);
}

/// A kind of listener on a port.
enum class Side : std::uint8_t {
    link,    ///< hosts that report it
    kernel,  ///< our own kernel, on its interface of the port
    fabric,  ///< unknown hosts: another host has created the group at the SA
};
constexpr std::size_t sides = 3;

/// An entry of the shards' tables: packets from one link are sent to all others of `links`, and to these kernels.
struct Route {
    wire::Gid group;
    PortSet links = 0, kernels = 0;
    bool operator==(const Route&) const = default;
};
struct Use {
    InterfaceId port{};
    wire::Gid group;
    bool hears = false, sends = false;
    bool operator==(const Use&) const = default;
};
using RouteAction = std::variant<Route, Use>;
using RouteActions = std::vector<RouteAction>;

class GroupRoutes {
public:
    using Actions = RouteActions;

    struct Setup {
        std::size_t ports = 1;
        PortSet routed = 0;   ///< ports between which groups are routed, at first; others receive for their kernels
        PortSet subnets = 0;  ///< ports on InfiniBand subnets
    };

    explicit GroupRoutes(const Setup& setup) : setup_(setup) {}

    Actions set(const wire::Gid& group, InterfaceId port, Side side, bool listening);

    /// Whether groups are routed from and to a port, as Setup says at first. Its listeners stay known.
    Actions set_routed(InterfaceId port, bool routed);

    /// Groups with listeners.
    std::vector<wire::Gid> groups() const;
    bool listens(const wire::Gid& group, InterfaceId port, Side side) const;
    std::size_t size() const { return groups_.size(); }

private:
    struct Group {
        PortSet listeners[sides] = {};
        PortSet hears = 0, sends = 0, kernels = 0;  ///< as last said

        PortSet& of(Side side) { return listeners[static_cast<std::size_t>(side)]; }
        PortSet of(Side side) const { return listeners[static_cast<std::size_t>(side)]; }
    };
    void update(const wire::Gid& gid, Group& group, Actions& out) const;
    PortSet hearers(const wire::Gid& gid, const Group& group) const;
    PortSet senders(const wire::Gid& gid, const Group& group, PortSet hears) const;

    Setup setup_;
    std::map<wire::Gid, Group> groups_;
};

}  // namespace verbline::multicast

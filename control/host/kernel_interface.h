// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Configures a kernel interface: MTU, addresses, state; and static routes.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/host/netlink.h"

namespace verbline::host {

struct KernelInterface {
    std::string name;
    std::uint32_t mtu = 0;  ///< 0: unchanged
    std::vector<link::InterfaceAddress> addresses;
};

/// Sets MTU and addresses, then the interface up, so that nothing is sent before all is set. Returns the ifindex.
/// Existing addresses are kept.
Result<int> configure(Netlink& kernel, const KernelInterface& wanted);

struct StaticRoute {
    link::InterfaceAddress to{};  ///< a network
    wire::Gid via{};              ///< of the same family, or an IPv6 gateway of an IPv4 network (RFC 8950)
    int ifindex = 0;              ///< of the link that the gateway is on; 0: the kernel finds it
    std::uint32_t metric = 0;
};

/// The gateway must be a neighbour on an interface that is up, by which the kernel finds the interface: add routes
/// after configuring all interfaces.
Result<void> add_static_route(Netlink& kernel, const StaticRoute& route);

/// Removes it, if it is there as it was added.
Result<void> remove_static_route(Netlink& kernel, const StaticRoute& route);

}  // namespace verbline::host

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Brings a kernel-visible interface to the state that the configuration wants.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/host/netlink.h"

namespace verbline::host {

struct KernelInterface {
    std::string name;
    std::uint32_t mtu = 0;  ///< 0: as it is
    std::vector<wire::Ipv4Prefix> addresses;
};

/// MTU, addresses, up, in that order, so that nothing is sent before all is set. Returns the ifindex.
/// Addresses that are there already stay.
Result<int> configure(Netlink& kernel, const KernelInterface& wanted);

struct StaticRoute {
    wire::Ipv4Prefix to{};
    wire::Ipv4Address via{};
    std::uint32_t metric = 0;
};

/// The kernel finds the interface by the gateway, which must be a neighbour on one that is up: routes come after all
/// interfaces.
Result<void> add_static_route(Netlink& kernel, const StaticRoute& route);

}  // namespace verbline::host

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Parses rtnetlink messages into events.

#include <array>
#include <cstdint>
#include <optional>

#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <sys/socket.h>

#include "control/host/kernel_event.h"

namespace verbline::host {

/// The longest prefix of that family.
template <class Address>
inline constexpr std::uint8_t address_bits = 8 * sizeof(Address);

/// Dump requests that together list everything.
struct KernelTable {
    int request;
    int family;
};
constexpr std::array<KernelTable, 6> kernel_tables{{{RTM_GETLINK, AF_UNSPEC},
                                                    {RTM_GETADDR, AF_INET},
                                                    {RTM_GETADDR, AF_INET6},
                                                    {RTM_GETNEXTHOP, AF_UNSPEC},
                                                    {RTM_GETROUTE, AF_INET},
                                                    {RTM_GETROUTE, AF_INET6}}};

/// The event for an rtnetlink message; none if it concerns no link, IP address, next-hop object or route, or cannot be
/// parsed. `dumped`: the message is of a dump, which lists routes in the kernel's order of preference.
std::optional<KernelEvent> parse_kernel_message(nlmsghdr& message, bool dumped);

}  // namespace verbline::host

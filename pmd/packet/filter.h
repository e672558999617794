// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What of an interface's traffic concerns an RDMA device, as a program for the kernel's packet filter: the rest of the
/// host's traffic is not copied to us.

#include <span>

#include <linux/filter.h>

namespace verbline::pmd::packet {

/// RoCE v2 (UDP 4791 over IPv4 and IPv6), RoCE v1, the soft fabric, ARP, ICMP and ICMPv6 (Neighbour Discovery, pings).
/// A VLAN tag is no obstacle: the kernel has taken it off before it filters.
std::span<const sock_filter> rdma_filter();

}  // namespace verbline::pmd::packet

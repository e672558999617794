// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A kernel packet filter (BPF) for the traffic of an RDMA device: the host's other traffic is not copied to this
/// process.

#include <span>

#include <linux/filter.h>

namespace verbline::pmd::packet {

/// RoCE v2 (UDP 4791 over IPv4 and IPv6), RoCE v1, the soft fabric, ARP, ICMP and ICMPv6 (Neighbour Discovery, pings).
/// VLAN-tagged frames match as well: the kernel removes the tag before it filters.
std::span<const sock_filter> rdma_filter();

}  // namespace verbline::pmd::packet

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// MAC addresses of IP groups and back (RFC 1112, 6.4; RFC 2464, 7). IP groups are given as GIDs, those of IPv4 mapped.
///
/// Functions of their arguments.

#include <optional>
#include <vector>

#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"

namespace verbline::net_ipoib {

wire::MacAddress group_mac(const wire::Gid& group);

/// The group that a packet is to, which begins at its IP header and has all of that; none: it is to no group.
std::optional<wire::Gid> group_of_packet(wire::Bytes packet, wire::EtherType type);

/// The groups that a MAC address stands for, as far as it tells: one of link-local scope for IPv6, whose address lacks
/// 80 bits; 32 for IPv4, whose address lacks five, but for 224.0.0.0/24 one. None: it is no group's.
std::vector<wire::Gid> groups_of(wire::MacAddress mac);

}  // namespace verbline::net_ipoib

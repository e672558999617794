// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// How far packets to a group go.

#include <cstddef>

#include "datapath/link/ip_gid.h"
#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"

namespace verbline::multicast {

/// Whether routers pass packets to the group on: not to 224.0.0.0/24 (RFC 5771, 4), nor to groups of an interface or a
/// link (RFC 4291, 2.7; scope 0 is reserved).
constexpr bool is_routed(const wire::Gid& group) {
    if (!link::is_group(group)) return false;
    if (const auto ipv4 = link::ipv4_of(group)) return static_cast<std::uint32_t>(*ipv4) >> 8 != 0xe00000;
    return (wire::load8(group.bytes, 1) & 0xf) > 2;
}

/// Whether hosts report it: not what all are in, nor what stays in the host (RFC 3376, 6; RFC 3810, 6).
constexpr bool is_reported(const wire::Gid& group) {
    if (!link::is_group(group)) return false;
    if (const auto ipv4 = link::ipv4_of(group)) return *ipv4 != wire::ipv4(224, 0, 0, 1);
    constexpr auto all_nodes = wire::Gid::of(0xff02'0000'0000'0000, wire::Guid{1});
    return (wire::load8(group.bytes, 1) & 0xf) > 1 && group != all_nodes;
}

}  // namespace verbline::multicast

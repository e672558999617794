// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Multicast groups by the addresses that users give: MGIDs.
///
///     InfiniBand, 239.1.2.3, broadcast group ff12:401b:ffff::ffff:ffff
///         space ipoib   ff12:401b:ffff::f01:203        the group that IPoIB itself uses (RFC 4391, 4)
///         space udp     ff12:4001:ffff::f01:203        the same with RDMA CM's signature: no IP packets there
///     RoCE v2           ::ffff:239.1.2.3
///     RoCE v1           ff0e::ffff:239.1.2.3
///
/// IPv6 groups likewise with 6 for 4; on RoCE they are MGIDs as they are.

#include "control/rdmacm/address.h"
#include "control/rdmacm/network.h"
#include "datapath/link/gid_table.h"
#include "datapath/rdma/address.h"
#include "datapath/wire/types.h"

namespace verbline::rdmacm {

/// On InfiniBand. Any address: zero, the SA chooses. MGIDs, given as AF_IB or by an IPv6 address that looks like one of
/// those that the SA gives out, are taken as they are.
wire::Gid ib_mgid(const SocketAddress& group, PortSpace space, const wire::Gid& broadcast_group);

wire::Gid roce_mgid(const SocketAddress& group, link::GidType type);

/// How datagrams get to a group.
rdma::Path path_to(const JoinedGroup& group, unsigned gid_index);

}  // namespace verbline::rdmacm

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Mapping of multicast addresses to MGIDs.
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

/// MGID on InfiniBand. For the any address returns zero: the SA chooses one. AF_IB MGIDs, and IPv6 addresses that look
/// like MGIDs allocated by the SA, are returned unchanged.
wire::Gid ib_mgid(const SocketAddress& group, PortSpace space, const wire::Gid& broadcast_group);

wire::Gid roce_mgid(const SocketAddress& group, link::GidType type);

/// Address of datagrams to a group.
rdma::Path path_to(const JoinedGroup& group, unsigned gid_index);

}  // namespace verbline::rdmacm

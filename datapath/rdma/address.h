// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The path to a peer, as the user gives it.

#include "datapath/wire/address_handle.h"
#include "datapath/wire/types.h"

namespace verbline::rdma {

/// On RoCE the address handle must be global, and `mac` is the next hop's Ethernet address (for multicast groups link's
/// multicast_mac). The soft fabric uses only the address handle.
struct Path {
    unsigned gid_index = 0;  ///< index into our GID table: source address and RoCE version
    wire::AddressHandle address;
    wire::MacAddress mac;
};

}  // namespace verbline::rdma

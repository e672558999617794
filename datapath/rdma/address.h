// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// How a peer is reached, as a user says it.

#include "datapath/wire/address_handle.h"
#include "datapath/wire/types.h"

namespace verbline::rdma {

/// On RoCE the address handle is global, and `mac` is the next hop's Ethernet address (multicast groups: link's
/// multicast_mac); on the soft fabric only the address handle counts.
struct Path {
    unsigned gid_index = 0;  ///< which of our own addresses, and so which RoCE version
    wire::AddressHandle address;
    wire::MacAddress mac;
};

}  // namespace verbline::rdma

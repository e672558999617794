// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A link-layer destination: built by the control thread when a neighbour is resolved, and copied in front of each
/// packet.

#include <cstdint>

#include "datapath/link/envelope.h"
#include "datapath/link/header.h"
#include "datapath/wire/address_handle.h"
#include "datapath/wire/types.h"

namespace verbline::link {

struct Destination {
    Header header;                ///< for devices that carry frames
    Sealing sealing;              ///< if the header is that of an InfiniBand packet, with `bth_at`
    std::uint8_t bth_at = 0;      ///< offset of the BTH in the header
    wire::AddressHandle address;  ///< the three below: for devices that carry datagrams
    wire::Qpn qpn{};
    wire::QKey qkey{};
    std::uint16_t connection = 0;  ///< of IPoIB's connected mode (datapath/ipoib/connections.h); 0: datagrams
};

}  // namespace verbline::link

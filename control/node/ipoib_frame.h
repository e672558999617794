// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Frames of the queue pair that a node on a soft fabric has for ARP and ND (link::node_ipoib_qpn).
///
/// Pure functions.

#include <cstdint>
#include <optional>
#include <vector>

#include "datapath/link/envelope.h"
#include "datapath/wire/address_handle.h"
#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"

namespace verbline::node {

/// From the IPoIB header on, in the frame. None: not a valid packet (link/arrival.h), or not for that queue pair in the
/// port's partition `pkey`.
std::optional<wire::Bytes> open_ipoib_frame(wire::Bytes frame, wire::QKey qkey, wire::PKey pkey);

struct IpoibDestination {
    wire::AddressHandle to;
    wire::Qpn qpn{};
    wire::QKey qkey{};
    wire::PKey pkey{0xffff};
};

/// `packet`: from the IPoIB header on.
std::vector<std::byte> make_ipoib_frame(const link::SourceAddress& from, const IpoibDestination& destination,
                                        wire::Psn psn, wire::Bytes packet);

}  // namespace verbline::node

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Conversion between paths as SA records, as the connection manager's values, and as queue pair attributes.

#include <cstdint>

#include "control/cm/parameters.h"
#include "control/rdmacm/network.h"
#include "datapath/rdma/address.h"
#include "datapath/wire/path_record.h"

namespace verbline::rdmacm {

constexpr std::uint8_t roce_packet_lifetime = 18;  ///< coded: 1.07 s; Linux uses the same

/// RoCE has no SA: input from which a path record is made locally.
struct RocePath {
    wire::Gid source{}, destination{};
    std::uint16_t source_port = 0, destination_port = 0;  ///< hashed into the flow label
    std::uint8_t type_of_service = 0;
    std::uint8_t packet_lifetime = roce_packet_lifetime;
};
wire::PathRecord roce_path_record(const RocePath& path, const NetworkPort::Facts& facts);

/// Whether packets of this path carry a GRH: RoCE always, on InfiniBand if it leaves the subnet (IBTA 8.4.3).
bool global(const wire::PathRecord& record, link::GidTable::Kind kind);

cm::ConnectionPath to_cm_path(const wire::PathRecord& record, link::GidTable::Kind kind, unsigned gid_index,
                              const wire::MacAddress& mac);
/// Inverse of `to_cm_path()`, for route queries on an id that a listener's REQ has created.
wire::PathRecord to_record(const cm::ConnectionPath& path, wire::PKey pkey, std::uint8_t mtu);

/// Local ACK timeout of a queue pair: twice the packet lifetime, and the peer's delay (IBTA 12.7.34), all coded.
std::uint8_t acknowledgement_timeout(std::uint8_t packet_lifetime, std::uint8_t peer_delay);

}  // namespace verbline::rdmacm

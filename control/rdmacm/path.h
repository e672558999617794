// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Paths as the SA's records, as the connection manager's values, and as queue pairs take them.

#include <cstdint>

#include "control/cm/parameters.h"
#include "control/rdmacm/network.h"
#include "datapath/rdma/address.h"
#include "datapath/wire/path_record.h"

namespace verbline::rdmacm {

constexpr std::uint8_t roce_packet_lifetime = 18;  ///< coded, as Linux says for want of anything to measure: 1.07 s

/// What nobody on RoCE can be asked for: a record made of what we know.
struct RocePath {
    wire::Gid source{}, destination{};
    std::uint16_t source_port = 0, destination_port = 0;  ///< the flow label is made of them
    std::uint8_t type_of_service = 0;
    std::uint8_t packet_lifetime = roce_packet_lifetime;
};
wire::PathRecord roce_path_record(const RocePath& path, const NetworkPort::Facts& facts);

/// Whether packets of this path carry a GRH: RoCE always, on InfiniBand if it leaves the subnet (IBTA 8.4.3).
bool global(const wire::PathRecord& record, link::GidTable::Kind kind);

cm::Path to_cm_path(const wire::PathRecord& record, link::GidTable::Kind kind, unsigned gid_index,
                    const wire::MacAddress& mac);
/// Back: what a REQ says of the path, for those who ask an id of a listener for its route.
wire::PathRecord to_record(const cm::Path& path, wire::PKey pkey, std::uint8_t mtu);

/// Local ACK timeout of a queue pair: twice the packet lifetime, and the peer's delay (IBTA 12.7.34), all coded.
std::uint8_t acknowledgement_timeout(std::uint8_t packet_lifetime, std::uint8_t peer_delay);

}  // namespace verbline::rdmacm

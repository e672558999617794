// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Predicts the RSS queue that a peer's packets will arrive at, so that the queue pair can be placed on the shard that
/// polls it.
///
/// RoCE v2 packets of a connection all have the same addresses and ports. The peer derives its source port from the
/// flow label, or from both QPNs (link::udp_source_port, as Linux and HCAs do), and one of these is ours to choose: the
/// device's hash key and indirection table give the receive queue of each candidate. If a peer derives its ports in
/// another way, its packets may have to be handed over between shards.

#include <cstdint>
#include <optional>

#include "datapath/link/envelope.h"
#include "pmd/rss.h"

namespace verbline::rdma {

/// The receive queue of packets that come from the destination of `to_peer` with UDP source port `source_port`.
/// nullopt: not RoCE v2.
std::optional<std::uint16_t> receive_queue(const pmd::RssTable& rss, const link::Envelope& to_peer,
                                           std::uint16_t source_port);

}  // namespace verbline::rdma

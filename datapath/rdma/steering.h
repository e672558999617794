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

/// The flow label to try at the `attempt`-th time: first none, then such as change all bits of the source port. With
/// few bits changed, a key that gives these no weight would leave all candidates in one queue.
constexpr std::uint32_t candidate_flow_label(std::uint32_t attempt) {
    constexpr std::uint32_t step = 0x278d, port_bits = 0x3fff;  // odd, so all of these come before one comes again
    return attempt * step & port_bits;
}

}  // namespace verbline::rdma

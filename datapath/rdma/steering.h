// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Which receive queue a peer's packets will come to, so that the queue pair can be given to the shard that polls it.
///
/// RoCE v2 packets of a connection all have the same addresses and ports. The peer's source port is made from the flow
/// label, or from both QPNs (link::udp_source_port, as Linux and HCAs do), and one of these is ours to choose: with the
/// device's own key and table we see for each candidate where it would be received. A peer that makes its ports in
/// another way costs a hand-over for each packet, nothing else.

#include <cstdint>
#include <optional>

#include "datapath/link/envelope.h"
#include "pmd/rss.h"

namespace verbline::rdma {

/// The queue for packets from where `to_peer` leads, sent from UDP port `source_port`. Nothing: not RoCE v2.
std::optional<std::uint16_t> receive_queue(const pmd::RssTable& rss, const link::Envelope& to_peer,
                                           std::uint16_t source_port);

}  // namespace verbline::rdma

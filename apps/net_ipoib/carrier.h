// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The device that carries the port's packets, with a queue for each of the program's, however many it has itself:
///
///     program's queues       the device's
///     receive   n ────────── n   each its own
///     receive   n ─ SoftwareRss ─ m   its queues are read by the program's in turns, and spread over all by flow
///     transmit  n ─ LockedTransmit ─ m < n   shared, by a lock each
///
/// Threads: of each queue the program's; all else the one that opens it.

#include <cstdint>
#include <memory>
#include <vector>

#include "apps/net_ipoib/arguments.h"
#include "pmd/netdev.h"
#include "pmd/packet_pools.h"
#include "pmd/rss/software_rss.h"

namespace verbline::net_ipoib {

struct Carrier {
    struct Setup {
        std::uint16_t receive = 1, transmit = 1;  ///< queues of the program
        pmd::PacketPools pools;                   ///< by receive queue
        std::uint32_t frame_bytes = 0;            ///< of the longest frame of the link
        const pmd::FlowHash* flows = nullptr;     ///< outlives the carrier
        std::vector<std::uint16_t> redirection;   ///< SoftwareRssOptions::redirection
    };
    static Result<Carrier> open(const Arguments& arguments, const Setup& setup);
    /// Whether a packet may be received by another queue's thread, into that queue's buffers.
    static bool spreads(const Arguments& arguments, std::size_t receive_queues);

    std::unique_ptr<pmd::NetDevice> device;
    pmd::SoftwareRss* spreading = nullptr;  ///< of `device`; null: it has the program's queues itself
};

}  // namespace verbline::net_ipoib

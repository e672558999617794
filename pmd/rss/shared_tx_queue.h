// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One transmit queue of a device, through which several threads send: its owner transmits, the others hand it their
/// packets.
///
///     thread 1 ── HandoverRing ──┐
///     thread 2 ── HandoverRing ──┼──> refused ──> tx_burst       what the device refuses waits, and all behind it
///     the owner's own burst ─────┘
///
/// The packets of each thread leave in their order. Threads are served round robin, so that none starves when the
/// device is full. Belongs to the owner.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pmd/netdev.h"
#include "pmd/rss/handover_ring.h"

namespace verbline::pmd {

class SharedTxQueue {
public:
    SharedTxQueue(NetDevice& device, std::uint16_t queue) : device_(device), queue_(queue) {}
    SharedTxQueue(const SharedTxQueue&) = delete;
    SharedTxQueue& operator=(const SharedTxQueue&) = delete;
    ~SharedTxQueue();  ///< frees what waits

    /// Before the first `send`. The ring must outlive the object.
    void add_source(HandoverRing& ring) { sources_.push_back(&ring); }

    /// Sends what waits: at most a burst of each source; and the owner's own packets, of which it takes the first n and
    /// returns n.
    std::uint16_t send(Burst own) noexcept;
    /// Packets wait for room in the device, which signals no event.
    bool stuck() const noexcept { return refused_count_ > 0; }
    /// Packets wait that the device has not been offered yet.
    bool pending() const noexcept;

private:
    bool send_refused() noexcept;

    NetDevice& device_;
    std::uint16_t queue_;
    std::vector<HandoverRing*> sources_;
    std::size_t turn_ = 0;  ///< round robin position: a source, or the owner behind the last
    std::array<rte_mbuf*, max_burst> refused_{};
    std::size_t refused_count_ = 0;
};

}  // namespace verbline::pmd

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One queue of SoftwareRss: the end of its thread.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "pmd/rss/handover_ring.h"
#include "pmd/rss/shared_tx_queue.h"
#include "pmd/rss/software_rss.h"
#include "pmd/rss/turn_watch.h"
#include "pmd/wakeups/wake_signal.h"
#include "pmd/wakeups/wakeups.h"

namespace verbline::pmd {

/// Packets of one burst for another queue, and the ring that leads there.
struct SoftwareRss::Outbox {
    Lane* to;
    HandoverRing ring;
    std::array<rte_mbuf*, max_burst> packets{};
    std::uint16_t count = 0;
    TurnWatch watch{};  ///< of the lane it leads to
};

struct alignas(64) SoftwareRss::Lane {
    explicit Lane(std::uint16_t queue) : number(queue) {}

    bool owns() const { return !owned.empty(); }
    /// Packets that may be received without a ring overflowing, independent of their flows. The ring to a thread that
    /// stands still may: it overflows alone, where all would wait.
    std::size_t least_room() const {
        std::size_t least = max_burst;
        for (const auto& outbox : outboxes) {
            if (!outbox) continue;
            const auto room = outbox->ring.room();
            if (room > 0 || !outbox->watch.stands_still(outbox->to->turns.value())) least = std::min(least, room);
        }
        return least;
    }
    bool stuck() const {
        return std::ranges::any_of(transmitters, [](const auto& queue) { return queue->stuck(); });
    }
    bool pending() const {
        return std::ranges::any_of(transmitters, [](const auto& queue) { return queue->pending(); });
    }

    std::uint16_t number;
    SoftwareRssCounters counters;
    Counter turns;  ///< of its thread: in transmission as well, as congestion may keep it from receiving

    // Receive.
    std::vector<std::uint16_t> owned;               ///< queues of the device inside
    std::vector<std::unique_ptr<Outbox>> outboxes;  ///< of an owner, by queue; null: its own
    std::vector<HandoverRing*> inboxes;             ///< from every other owner
    std::size_t next = 0;                           ///< polled first: of what it owns, then of its inboxes
    bool consumed = false;                          ///< by the last `rx_burst`
    bool stalled = false;                           ///< the last `rx_burst` did not read for want of room in a ring

    // Transmit.
    std::vector<std::unique_ptr<SharedTxQueue>> transmitters;  ///< of an owner; the first also sends its own
    Lane* transmitter = nullptr;                               ///< of others: the owner that sends for it, ...
    std::optional<HandoverRing> to_transmitter;                ///< ... and the ring that leads there
    TurnWatch watch;                                           ///< of the transmitter

    // Sleep.
    WakeSignal signal;
    Wakeups wakeups;    ///< of an owner: over the device's events and `signal`
    bool deaf = false;  ///< of an owner: some of what it waits for signals no event
};

}  // namespace verbline::pmd

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Receive-side scaling and transmit-side sharing in software: a device with few queues presented as one with many.
///
///     the device's queue 0 ── rx_burst by its owner ── FlowHash ── redirection table ──┬── the owner's: returned
///                                                                                      ├── ring ──> queue 1: rx_burst
///                                                                                      └── ring ──> queue 2: rx_burst
///     the device's queue 0 <── tx_burst by its owner <── SharedTxQueue <── rings <── tx_burst of queues 1 and 2
///
/// Each queue of the device inside has an owner: the queue whose thread polls it, and transmits on it. Packets of a
/// flow always take the same way, and each way is first in, first out, so a flow keeps its order. Packets of no flow go
/// to the owner of the first queue. If the device has as many transmit queues as there are threads, none is shared.
///
/// A thread that stands still holds up no other one: what its full rings do not take is dropped, from a lossless device
/// and for transmission after a while (tunables::handover_stall).
///
/// A sleeping thread is woken by the thread that hands it packets. Only owners depend on the device's own receive
/// event.
///
/// Threads: for one queue, the same thread makes both `rx_burst` and `tx_burst`, and should call `tx_burst` at least
/// with an empty burst each time: by this an owner sends what it was handed.

#include <cstdint>
#include <memory>
#include <vector>

#include "pmd/decorator.h"
#include "pmd/rss.h"

namespace verbline::pmd {

#define VERBLINE_SOFTWARE_RSS_COUNTERS(X)                                                                        \
    X(rx_handed_over, "packets received for other queues and handed to them")                                    \
    X(rx_taken_over, "packets that other queues have received for this one")                                     \
    X(rx_dropped_handover_full, "packets for another queue dropped because its ring was full")                   \
    X(tx_handed_over, "packets handed to the queue that transmits for this one")                                 \
    X(tx_dropped_handover_full, "packets dropped because the thread that transmits for this queue stands still") \
    X(handover_wakeups, "times that another queue's thread slept and was woken for what it was handed")

struct SoftwareRssCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_SOFTWARE_RSS_COUNTERS)
};

struct SoftwareRssOptions {
    std::uint16_t queues = 1;           ///< that the device is to have
    const FlowHash* flows = nullptr;    ///< outlives the device
    std::vector<std::uint16_t> owners;  ///< by receive queue of the device inside, and so of as many transmit queues
    /// The redirection table; a power of two. May be uneven, as an owner has more to do. Empty: all queues in turns.
    std::vector<std::uint16_t> redirection = {};
    std::vector<int> sockets = {};  ///< NUMA nodes of the queues' threads; empty: any
};

class SoftwareRss : public Decorator {
public:
    /// A device that carries datagrams must have as many transmit queues as are wanted: datagrams are sent with an
    /// address each (`send`), and so not handed over.
    static Result<std::unique_ptr<SoftwareRss>> create(std::unique_ptr<NetDevice> device, SoftwareRssOptions options);
    ~SoftwareRss() override;  ///< frees what was handed over and not taken

    const Capabilities& capabilities() const override { return capabilities_; }
    std::optional<RssTable> rss() const override;
    /// Another redirection table, of the same size. Call while no thread is in `rx_burst`. The packets of a flow that
    /// moves to another queue may pass those that wait for its former one, as they may in a NIC. EINVAL: not possible.
    Result<void> redirect(std::vector<std::uint16_t> redirection);

    std::uint16_t rx_burst(std::uint16_t queue, Burst burst) noexcept override;
    /// True also while packets wait that another queue has handed to this one for transmission.
    bool rx_consumed(std::uint16_t queue) const noexcept override;
    std::uint16_t tx_burst(std::uint16_t queue, Burst burst) noexcept override;

    /// Of an owner -1 if the device has none, refuses packets, or is not read because a ring is full.
    int rx_event(std::uint16_t queue) const noexcept override;
    void want_rx_event(std::uint16_t queue, bool wanted) noexcept override;

    /// Sums over the queues, then those of the device.
    void counters(const CounterVisitor& visit) const override;
    /// Those of the queue, then of the device's queues that it owns.
    void queue_counters(std::uint16_t queue, const CounterVisitor& visit) const override;

private:
    struct Outbox;
    struct Lane;

    SoftwareRss(std::unique_ptr<NetDevice> device, SoftwareRssOptions options);
    Result<void> connect();
    Result<void> add_outboxes(Lane& owner);
    Result<void> share_transmit_queues();
    int socket_of(std::uint16_t queue) const;

    std::uint16_t queue_of(std::uint32_t hash) const noexcept;
    std::uint16_t receive(Lane& lane, std::uint16_t inner_queue, Burst room) noexcept;
    std::uint16_t spread(Lane& lane, Burst received) noexcept;
    void hand_over(Lane& lane) noexcept;
    std::uint16_t hand_to_transmitter(Lane& lane, Burst burst) noexcept;
    static void wake(Lane& from, Lane& to) noexcept;

    SoftwareRssOptions options_;
    Capabilities capabilities_;
    std::vector<std::unique_ptr<Lane>> lanes_;  ///< by queue
};

}  // namespace verbline::pmd

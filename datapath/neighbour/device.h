// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An Ethernet device that finds its neighbours itself: ARP, ND, echo requests for us and questions for our groups are
/// taken out of what is received and answered; everything else passes untouched, at the price of a look at three fields
/// of each frame.
///
/// Threads: as any device's, but that a queue is received from and sent to by the same thread, for replies leave on the
/// queue whose `rx_burst` they were made in. `find`, `ask`, `on_found`, `set_addresses` and `conflict` are anybody's; a
/// mutex is taken only when ARP, ND or ICMP passes or something waits to be sent.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "datapath/neighbour/group_reports.h"
#include "datapath/neighbour/neighbours.h"
#include "pmd/decorator.h"

struct rte_mempool;

namespace verbline::neighbour {

#define VERBLINE_NEIGHBOUR_DEVICE_COUNTERS(X)                                                    \
    X(neighbour_tx_echo_replies, "pings answered")                                               \
    X(neighbour_tx_dropped, "replies and questions not sent: no mbuf, or no room in the device") \
    X(neighbour_asks_dropped, "questions not asked because too many waited")                     \
    X(neighbour_dropped_no_memory, "messages not heeded, and questions put off, because there was no memory")

struct NeighbourDeviceCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_NEIGHBOUR_DEVICE_COUNTERS)
};

class NeighbourDevice : public pmd::Decorator {
public:
    using Clock = std::function<Time()>;
    static constexpr std::size_t max_asks = 64;      ///< that wait for the next burst
    static constexpr std::size_t max_awaited = 256;  ///< whose answers `on_found` tells of

    /// `device` carries Ethernet. `pool` is for what we send, and outlives the device.
    NeighbourDevice(std::unique_ptr<pmd::NetDevice> device, const wire::MacAddress& mac, rte_mempool* pool,
                    Clock clock);

    /// Ours from now on; frames for their groups are let in. The next bursts probe for them and announce them.
    void set_addresses(const std::vector<Address>& addresses);
    std::optional<wire::MacAddress> find(const wire::Gid& gid) const;
    /// Sends the question with the next `rx_burst` or `tx_burst`. Ask again if no answer comes.
    void ask(const wire::Gid& gid);
    /// Called when somebody who was asked for is found; by whoever receives, must not block nor call back.
    void on_found(std::function<void()> tell);
    /// One of our addresses that another host has, too.
    std::optional<wire::Gid> conflict() const;

    /// Tells routers and switches that we are in this group (IGMP, MLD), and no longer. Each group once. What is sent
    /// to it is let in by `attach_multicast`.
    void join(const wire::Gid& group);
    void leave(const wire::Gid& group);

    std::uint16_t rx_burst(std::uint16_t queue, pmd::Burst burst) noexcept override;
    std::uint16_t tx_burst(std::uint16_t queue, pmd::Burst burst) noexcept override;
    void counters(const CounterVisitor& visit) const override;

private:
    bool take(std::uint16_t queue, rte_mbuf* packet) noexcept;
    void send_waiting(std::uint16_t queue) noexcept;
    rte_mbuf* allocate(std::size_t size) noexcept;
    void transmit(std::uint16_t queue, const Frame& frame) noexcept;
    void transmit(std::uint16_t queue, const GroupPacket& packet) noexcept;
    void keep(GroupReports::Packets packets);
    void transmit(std::uint16_t queue, rte_mbuf* packet) noexcept;
    void schedule();
    void tell_of_found();

    rte_mempool* pool_;
    Clock clock_;
    mutable std::mutex mutex_;  ///< of what follows
    Neighbours neighbours_;
    GroupReports groups_;
    GroupReports::Packets reports_;  ///< wait for the next burst
    std::vector<Address> addresses_;
    std::vector<wire::Gid> asks_;
    std::set<wire::Gid> awaited_;  ///< asked for, and not found yet
    std::function<void()> on_found_;
    NeighbourDeviceCounters counters_;
    std::atomic<Time> due_;  ///< when a burst must look whether there is something to send; read without the mutex
};

}  // namespace verbline::neighbour

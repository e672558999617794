// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An Ethernet device with its own neighbour discovery: it intercepts and answers ARP, ND, echo requests to its
/// addresses and queries for its groups; all other frames pass unchanged, at the cost of reading three fields of each.
///
/// Threads: as any device's, except that one thread must both receive and send on a queue, since `rx_burst` sends
/// replies on its queue. `find`, `resolve`, `resolving`, `on_answer`, `set_addresses` and `conflict` may be called by
/// any thread; bursts take the mutex only for ARP, ND or ICMP frames, or to send something that is due.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "datapath/neighbour/group_reports.h"
#include "datapath/neighbour/neighbours.h"
#include "pmd/decorator.h"

struct rte_mempool;

namespace verbline::neighbour {

#define VERBLINE_NEIGHBOUR_DEVICE_COUNTERS(X)                                                        \
    X(neighbour_tx_echo_replies, "pings answered")                                                   \
    X(neighbour_tx_dropped, "replies and solicitations not sent: no mbuf, or no room in the device") \
    X(neighbour_requests_dropped, "solicitations dropped because too many were queued")              \
    X(neighbour_dropped_no_memory, "messages ignored, and solicitations postponed, for want of memory")

struct NeighbourDeviceCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_NEIGHBOUR_DEVICE_COUNTERS)
};

class NeighbourDevice : public pmd::Decorator {
public:
    using Clock = std::function<Time()>;
    static constexpr std::size_t max_requests = 1024;  ///< requests queued for the next burst

    /// `device` must carry Ethernet. Frames sent are allocated from `pool`, which must outlive the device.
    NeighbourDevice(std::unique_ptr<pmd::NetDevice> device, const wire::MacAddress& mac, rte_mempool* pool,
                    Clock clock);

    /// Sets the local addresses, and joins their solicited-node groups on the inner device. The next bursts probe for
    /// and announce them.
    void set_addresses(const std::vector<link::InterfaceAddress>& addresses);
    std::optional<wire::MacAddress> find(const wire::Gid& gid) const;
    /// Sends an ARP request or neighbour solicitation for `gid` with the next `rx_burst` or `tx_burst`, and repeats it
    /// until there is an answer or, after Parameters::resolution_timeout, the address has failed.
    void resolve(const wire::Gid& gid);
    /// `gid` was passed to `resolve`, and has neither been resolved nor failed.
    bool resolving(const wire::Gid& gid) const;
    /// Sets a handler that is called when an address passed to `resolve` has been resolved, turns out to be known, or
    /// has failed. It runs on a thread that receives or sends, and must neither block nor call this device.
    void on_answer(std::function<void()> on_answer);
    /// A local address that another host uses as well, if any.
    std::optional<wire::Gid> conflict() const;

    /// Reports membership of a group to routers and switches (IGMP, MLD), and the end of it. Not counted: call once per
    /// group. Reception of the group is enabled by `attach_multicast`.
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

    rte_mempool* pool_;
    Clock clock_;
    mutable std::mutex mutex_;  ///< protects the members below
    Neighbours neighbours_;
    GroupReports groups_;
    GroupReports::Packets reports_;  ///< queued for the next burst
    std::vector<link::InterfaceAddress> addresses_;
    std::vector<wire::Gid> requests_;
    std::function<void()> on_answer_;
    NeighbourDeviceCounters counters_;
    std::atomic<Time> due_;  ///< when a burst must next check for something to send; read without the mutex
};

}  // namespace verbline::neighbour

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Resolves IP addresses on an IPoIB link to GIDs, for programs that only connect by IP and send no IP packets, over a
/// datagram queue pair of the caller's: ARP and the broadcast group (RFC 4391, 9.1), neighbour discovery and IPv6
/// multicast groups (RFC 4391, 9.3).
///
///     find ──────> neighbour::Resolver ──┬── Send ──> path of the GID, broadcast group or IpoibGroups ──>
///     Setup::send received ──>  by ARP and ND      └── Resolved, Failed ──> `found` handler
///
/// Owned by the control thread; handlers are called on it, from the loop or before `find` returns. Loop and agent
/// outlive it.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "control/ipoib/groups.h"
#include "control/loop/loop.h"
#include "control/sa/agent.h"
#include "datapath/link/interface_address.h"
#include "datapath/neighbour/resolver.h"
#include "datapath/wire/address_handle.h"
#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"
#include "pmd/base/counter.h"
#include "pmd/base/error.h"

namespace verbline::ipoib {

#define VERBLINE_IPOIB_NEIGHBOURS_COUNTERS(X)                                              \
    X(ipoib_rx_dropped_type, "IPoIB packets received that are neither ARP nor IPv6")       \
    X(ipoib_rx_dropped_short, "IPoIB packets received that are shorter than their header") \
    X(nd_rx_dropped_type, "IPv6 packets received that are no neighbour discovery")         \
    X(ipoib_tx_dropped_no_path, "ARP and ND not sent because the path to its receiver is not known")

struct IpoibNeighboursCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_IPOIB_NEIGHBOURS_COUNTERS)
};

/// IPv6 link-local address of the interface with this port GID (RFC 4391, 8).
wire::Gid ipv6_link_local_of(const wire::Gid& port);

class IpoibNeighbours {
public:
    using Ticket = std::uint64_t;
    using Found = std::function<void(const Result<wire::Gid>&)>;

    struct Setup {
        wire::PKey pkey{0xffff};
        wire::Qpn qpn{};                                ///< advertised to neighbours
        std::vector<link::InterfaceAddress> addresses;  ///< of both families, the link-local one among them
        /// Sends a packet, from the IPoIB header on, to that queue pair. The Q_Key is the broadcast group's.
        std::function<void(const wire::AddressHandle& to, wire::Qpn qpn, wire::Bytes packet)> send;
        /// A group was joined, or its record changed: attach the queue pair to it. The broadcast group comes first.
        std::function<void(const wire::Gid& mgid, const sa::Group& group)> on_group;
    };

    IpoibNeighbours(control::Loop& loop, sa::Agent& agent, Setup setup);
    ~IpoibNeighbours();
    IpoibNeighbours(const IpoibNeighbours&) = delete;
    IpoibNeighbours& operator=(const IpoibNeighbours&) = delete;

    /// Resolves `address`, given as a GID, IPv4 mapped. EHOSTUNREACH: no answer; ENETDOWN: the SA refused the broadcast
    /// group.
    void find(Ticket ticket, const wire::Gid& address, Found found);
    void cancel(Ticket ticket);
    /// A packet received by the queue pair, from the IPoIB header on.
    void received(wire::Bytes packet);

    const wire::Gid& broadcast_mgid() const { return mgid_; }
    const std::optional<sa::Group>& broadcast_group() const { return group_; }
    void counters(const CounterVisitor& visit) const;

private:
    struct Waiting {
        wire::Gid address;
        Found found;
    };
    struct ActionVisitor;  ///< executes the engine's actions
    friend struct ActionVisitor;

    void broadcast_granted(const std::expected<sa::Group, sa::SaStatus>& answer);
    void join_broadcast_group();
    void follow_gid();
    void ask(const wire::Gid& address);
    void play(const neighbour::Actions& actions);
    void send(const wire::IpoibAddress& to, std::vector<std::byte> packet);
    void finish(const wire::Gid& address, const Result<wire::Gid>& result);
    void schedule();
    wire::IpoibAddress own_link() const { return {.qpn = setup_.qpn, .gid = agent_.port().gid()}; }

    control::Loop& loop_;
    sa::Agent& agent_;
    const Setup setup_;
    const wire::Gid mgid_;
    std::optional<sa::Group> group_;
    bool refused_ = false;  ///< the broadcast group
    neighbour::Resolver engine_;
    IpoibGroups groups_;
    std::map<Ticket, Waiting> waiting_;
    control::Timer timer_;
    sa::Observation port_events_;
    IpoibNeighboursCounters counters_;
    std::shared_ptr<const bool> alive_ = std::make_shared<bool>(true);  ///< outlived only by pending path queries
};

}  // namespace verbline::ipoib

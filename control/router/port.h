// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The control thread's side of a port: its addresses, its neighbours, and how to reach them.
///
///     shard ── Unresolved, ARP, ND ──> Port ──> Engine ─── Resolved  ──> locate (a MAC; or QPN and GID, by a path) ──┐
///     shard <── SetNeighbour, FailNeighbour, ForgetNeighbour, Transmit <──────────────────────────────────────────┘
///
/// Link types differ in how a hardware address becomes a destination (`locate`) and where broadcasts go (`broadcast`).
/// Owned by the control thread; must not outlive its loop and shard links.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "control/host/ipv6_gateways.h"
#include "control/loop/loop.h"
#include "control/router/shard_links.h"
#include "datapath/link/destination.h"
#include "datapath/neighbour/engine.h"
#include "datapath/router/messages.h"
#include "pmd/netdev.h"

struct rte_mempool;

namespace verbline::router {

#define VERBLINE_PORT_COUNTERS(X)                                                                           \
    X(control_tx_packets, "packets of the control thread's own (ARP, ND) handed to the shard")              \
    X(control_tx_dropped_no_mbuf, "packets of the control thread's own not sent for want of an mbuf")       \
    X(control_tx_dropped_no_path, "packets of the control thread's own for a destination without any path") \
    X(rx_dropped_punted_type, "packets handed up that the control thread has no use for")

struct PortCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_PORT_COUNTERS)
};

class ControlPort {
public:
    struct Setup {
        forward::InterfaceId id{};
        std::string name;
        pmd::NetDevice* device = nullptr;                   ///< not owned
        rte_mempool* pool = nullptr;                        ///< for ARP and ND packets
        bool forwards = false;                              ///< a router, which its advertisements say (RFC 4861, 4.4)
        const host::Ipv6Gateways* ipv6_gateways = nullptr;  ///< of IPv4 routes; null: there are none
    };

    ControlPort(const ControlPort&) = delete;
    ControlPort& operator=(const ControlPort&) = delete;
    virtual ~ControlPort() = default;

    // Events from the shard. Takes ownership of the mbuf.
    void handle(const Unresolved& event);
    void handle(const Punted& event);

    /// Sets the addresses of the port's interface, as the kernel has them; the first of a family is its default source
    /// address, of IPv6 the first that is not link-local.
    void set_addresses(const std::vector<link::InterfaceAddress>& addresses);

    forward::InterfaceId id() const { return setup_.id; }
    const std::string& name() const { return setup_.name; }
    pmd::NetDevice& device() { return *setup_.device; }
    /// Whether we have an identity on the link (see link_is_up).
    bool up() const { return up_; }
    /// The device's link state, as last set.
    bool carrier() const { return carrier_; }
    /// Sets the device's link state. May be repeated.
    void set_carrier(bool carrier);
    /// Called whenever `up` or `carrier` changes.
    void on_change(std::function<void()> changed) { changed_ = std::move(changed); }

    const std::vector<link::InterfaceAddress>& addresses() const { return addresses_; }
    std::vector<neighbour::Neighbour> neighbours() const { return engine_.neighbours(loop_.now()); }
    virtual void counters(const CounterVisitor& visit) const;

protected:
    using Located = std::function<void(const link::Destination&)>;

    /// `like`: any hardware address of the link's kind.
    ControlPort(control::Loop& loop, ShardLinks& shards, const Setup& setup, const neighbour::LinkAddress& like);

    /// The device's link state changed.
    virtual void carrier_changed() = 0;
    /// Resolves the destination of a neighbour and calls `located`, now or later; never, if there is no path.
    virtual void locate(const neighbour::LinkAddress& hardware, wire::EtherType type, Located located) = 0;
    virtual std::optional<link::Destination> broadcast(wire::EtherType type) const = 0;
    /// Replaces the IPv6 groups that the port must hear; the default is that its broadcasts bring them.
    virtual void listen(const std::vector<wire::Gid>&) {}
    /// The destination of an IPv6 group; the default is `broadcast`, where every neighbour hears it.
    virtual std::optional<link::Destination> multicast(const wire::Ipv6Address& group) const;
    /// Sends a packet of ours to an IPv6 group; the default, to `multicast`.
    virtual void send_to_group(const wire::Gid& group, std::vector<std::byte> packet);
    void transmit(wire::Bytes packet, const link::Destination& to);

    /// The link is usable, with our hardware address `hardware`. May be repeated when anything about the link has
    /// changed.
    void link_is_up(const neighbour::LinkAddress& hardware);
    void link_is_down();
    /// Paths may have changed: resolves the destinations of all neighbours again.
    void locate_all();
    /// Announces our addresses to the neighbours.
    void announce();

    control::Loop& loop() { return loop_; }
    ShardLinks& shards() { return shards_; }
    PortCounters counters_;

private:
    void play(const neighbour::Actions& actions);
    void run(const neighbour::Send& action);
    void run(const neighbour::Resolved& action);
    void run(const neighbour::Failed& action);
    void run(const neighbour::Removed& action);
    wire::Gid neighbour_of(const wire::Gid& address) const;
    std::vector<wire::Gid> names_of(const wire::Gid& neighbour) const;
    void set_up(bool up);
    void schedule();

    control::Loop& loop_;
    ShardLinks& shards_;
    Setup setup_;
    bool up_ = false, carrier_ = false;
    std::function<void()> changed_ = [] {};
    std::vector<link::InterfaceAddress> addresses_;
    neighbour::Engine engine_;
    std::map<wire::Gid, neighbour::LinkAddress> announced_;  ///< neighbours sent to the shard, or about to be
    control::Timer timer_;
};

}  // namespace verbline::router

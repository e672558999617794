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
#include <set>
#include <string>
#include <vector>

#include "control/host/ipv6_gateways.h"
#include "control/loop/loop.h"
#include "control/multicast/port_listeners.h"
#include "control/router/router_advertisements.h"
#include "control/router/shard_links.h"
#include "datapath/link/destination.h"
#include "datapath/neighbour/resolver.h"
#include "datapath/router/messages.h"
#include "pmd/netdev.h"

struct rte_mempool;

namespace verbline::router {

#define VERBLINE_PORT_COUNTERS(X)                                                                      \
    X(control_tx_packets, "packets of the control thread (ARP, ND) handed to the shard")               \
    X(control_to_kernel_packets, "packets of the control thread to the kernel: queries of its groups") \
    X(control_tx_dropped_no_mbuf, "packets of the control thread not sent: no mbuf")                   \
    X(control_tx_dropped_no_path, "packets of the control thread for a destination without a path")    \
    X(rx_dropped_punted_type, "punted packets of a type that the control thread does not handle")

struct PortCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_PORT_COUNTERS)
};

/// Hears of what happens to a port's neighbours, after the port itself.
class NeighbourListener {
public:
    virtual ~NeighbourListener() = default;
    /// A message, except of our own, came on a port.
    virtual void received(forward::InterfaceId port, const neighbour::Message& message) = 0;
    /// A packet waits for a neighbour.
    virtual void wanted(forward::InterfaceId port, const wire::Gid& address) = 0;
    virtual void resolved(forward::InterfaceId port, const wire::Gid& address) = 0;
    /// It was not found, or is no longer there.
    virtual void lost(forward::InterfaceId port, const wire::Gid& address) = 0;
    virtual void addresses_changed(forward::InterfaceId port, const std::vector<link::InterfaceAddress>& addresses) = 0;
};

class ControlPort {
public:
    struct Setup {
        forward::InterfaceId id{};
        std::string name;
        pmd::NetDevice* device = nullptr;  ///< not owned
        rte_mempool* pool = nullptr;       ///< for ARP and ND packets
        bool forwards = false;             ///< a router: sets the router flag of its advertisements (RFC 4861, 4.4)
        bool multicast = false;            ///< groups are routed: queries the link's hosts (IGMP, MLD)
        const host::Ipv6Gateways* ipv6_gateways = nullptr;          ///< of IPv4 routes; null: there are none
        bool advertises = false;                                    ///< as a router, to hosts that configure themselves
        std::uint32_t mtu = 0;                                      ///< of the link, advertised
        std::size_t neighbours = neighbour::Parameters{}.capacity;  ///< that it keeps at most
        std::vector<wire::Gid> virtual_addresses{};                 ///< neighbour/parameters.h
    };

    ControlPort(const ControlPort&) = delete;
    ControlPort& operator=(const ControlPort&) = delete;
    virtual ~ControlPort() = default;

    // Events from the shard. Takes ownership of the mbuf.
    void handle(const Unresolved& event);
    void handle(const Punted& event);
    void handle(const MembershipHeard& event);
    void handle(const UnknownGroup& event) { unknown_group_(event.group); }

    /// Sets the addresses of the port's interface, as the kernel has them; the first of a family is its default source
    /// address, of IPv6 the first that is not link-local. IPv6 ones are used once no other host is found to have them
    /// (RFC 4862, 5.4), `certain` ones at once.
    void set_addresses(const std::vector<link::InterfaceAddress>& addresses,
                       const std::vector<wire::Gid>& certain = {});

    /// Sets the listener, or none if null. It is called with the present addresses at once.
    void observe_neighbours(NeighbourListener* listener);
    // For it: what neighbour::Resolver does of these names.
    void resolve(const wire::Gid& address);
    void verify(const wire::Gid& address);
    void answer_for_other(const neighbour::Message& request);

    forward::InterfaceId id() const { return setup_.id; }
    const std::string& name() const { return setup_.name; }
    pmd::NetDevice& device() { return *setup_.device; }
    /// Whether we have an identity on the link (see link_is_up).
    bool up() const { return up_; }
    /// The device's link state, as last set.
    bool carrier() const { return carrier_; }
    /// Sets the device's link state. May be repeated.
    void set_carrier(bool carrier);
    /// Replaces those of Setup.
    void set_virtual_addresses(const std::vector<wire::Gid>& addresses);
    /// Begins or ends to advertise itself as a router, as Setup::advertises says at first. At the end a last router
    /// advertisement, of lifetime 0, is sent. May be repeated.
    void set_advertises(bool advertises);
    /// Call before the shards end: sends a last router advertisement, of lifetime 0, if the port has advertised itself.
    virtual void retire();
    /// Announces our addresses to the neighbours, if the port is up.
    void announce();
    /// Called whenever `up` or `carrier` changes.
    void on_change(std::function<void()> changed) { changed_ = std::move(changed); }

    /// Called with an address of ours that another host has as well; one that is lost is to be removed.
    void on_conflict(std::function<void(const neighbour::Conflict&)> handler) { on_conflict_ = std::move(handler); }
    /// Called when a virtual address of ours is left to another host, and when it no longer is.
    void on_yielded(std::function<void(const neighbour::Yielded&)> handler) { on_yielded_ = std::move(handler); }
    /// One line: which addresses other hosts have as well, or are left to them; empty if there are none.
    std::string conflicts() const;
    // Multicast groups, by their IP addresses, those of IPv4 mapped. The port reports its listeners; GroupRoutes
    // decides which groups it receives and sends to (control/multicast/group_routes.h).

    using GroupListens = std::function<void(const wire::Gid& group, multicast::Side side, bool listening)>;
    /// Called when the first listener of a group comes on one side of the port, and when the last is gone.
    void on_listener(GroupListens handler) { group_listens_ = std::move(handler); }
    /// Called for packets to a group that has no route; it may have listeners that are not known yet.
    void on_unknown_group(std::function<void(const wire::Gid& group)> handler) { unknown_group_ = std::move(handler); }
    void use_group(const multicast::Use& use);
    /// Queries whether the group exists where listeners send no reports (at the SA), and reports a listener if so. The
    /// default does nothing.
    virtual void look_for_group(const wire::Gid&) {}
    /// Whether groups are routed from and to the port, as Setup::multicast says at first: if not, its link has no
    /// listeners, and all groups that arrive are its kernel's. May be repeated.
    virtual void set_multicast(bool routed);
    const multicast::PortListeners& listeners() const { return listeners_; }

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
    /// The same for packets of the router, which may go another way than those of address resolution.
    virtual void reach(const neighbour::LinkAddress& hardware, wire::EtherType type, Located located) {
        locate(hardware, type, std::move(located));
    }
    virtual std::optional<link::Destination> broadcast(wire::EtherType type) const = 0;
    /// Sets the groups that the port receives for itself. The default does nothing: they arrive as broadcasts.
    virtual void listen(const std::vector<wire::Gid>&) {}
    /// Starts or stops reception of a group for the kernel or other links. The default does nothing, as above.
    virtual void hear_group(const wire::Gid&, bool /*wanted*/) {}
    /// The destination of a group; the default is `broadcast`, which reaches every neighbour.
    virtual std::optional<link::Destination> multicast(const wire::Gid& group) const;
    /// Resolves where packets to a group go: sends SetNeighbour, now or later, or FailNeighbour. The default, to
    /// `multicast`. `routed`: packets of other links, until `forget_group`; else of the kernel.
    virtual void resolve_group(const wire::Gid& group, bool routed);
    virtual void forget_group(const wire::Gid&) {}
    /// Whether the shard is to have each group resolved that the kernel sends to.
    virtual bool resolves_groups() const { return false; }
    /// Sends a packet of ours to a group; the default, to `multicast`.
    virtual void send_to_group(const wire::Gid& group, std::vector<std::byte> packet);
    void transmit(wire::Bytes packet, const link::Destination& to);

    /// The link is usable, with our hardware address `hardware`. May be repeated when anything about the link has
    /// changed.
    void link_is_up(const neighbour::LinkAddress& hardware);
    void link_is_down();
    /// Paths may have changed: resolves the destinations of all neighbours again.
    void locate_all();
    /// Whether a neighbour in use has this hardware address.
    bool uses(const neighbour::LinkAddress& hardware) const;
    /// Resolves the destinations of those that have it again; `forgets`: what there is must not be used meanwhile.
    void locate_again(const neighbour::LinkAddress& hardware, bool forgets);
    control::Loop& loop() { return loop_; }
    ShardLinks& shards() { return shards_; }
    PortCounters counters_;

private:
    void play(const neighbour::Actions& actions);
    void run(const neighbour::Send& action);
    void run(const neighbour::Resolved& action);
    void run(const neighbour::Failed& action);
    void run(const neighbour::Removed& action);
    void run(const neighbour::Conflict& action);
    void run(const neighbour::Yielded& action);
    void forget_conflicts(const std::vector<link::InterfaceAddress>& next);
    void publish_sources();
    void make_advertisements();
    void advertise();
    wire::Gid neighbour_of(const wire::Gid& address) const;
    std::vector<wire::Gid> names_of(const wire::Gid& neighbour) const;
    void set_up(bool up);
    void schedule();
    void ask(multicast::Side to, const wire::Gid& group, const neighbour::GroupPacket& packet);
    rte_mbuf* make_packet(wire::Bytes packet);

    control::Loop& loop_;
    ShardLinks& shards_;
    Setup setup_;
    bool up_ = false, carrier_ = false;
    std::function<void()> changed_ = [] {};
    std::vector<link::InterfaceAddress> addresses_;
    NeighbourListener* listener_ = nullptr;
    SetAddress sources_;  ///< as sent to the shards
    neighbour::Resolver engine_;
    std::function<void(const neighbour::Conflict&)> on_conflict_ = [](const neighbour::Conflict&) {};
    std::function<void(const neighbour::Yielded&)> on_yielded_ = [](const neighbour::Yielded&) {};
    std::map<wire::Gid, neighbour::Conflict> conflicts_;
    std::map<wire::Gid, std::optional<neighbour::LinkAddress>> yielded_;  ///< to whom, if that is known
    std::optional<RouterAdvertisements> advertisements_;     ///< stays after the port has ceased to advertise
    std::map<wire::Gid, neighbour::LinkAddress> announced_;  ///< neighbours sent to the shard, or about to be
    control::Timer timer_;
    GroupListens group_listens_ = [](const wire::Gid&, multicast::Side, bool) {};
    std::function<void(const wire::Gid&)> unknown_group_ = [](const wire::Gid&) {};
    std::set<wire::Gid> sends_to_;  ///< routed groups
    multicast::PortListeners listeners_;
};

}  // namespace verbline::router

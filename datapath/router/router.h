// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// IPv4 routing: route lookup, neighbours, TTL, MTU, ICMP errors. One per shard, called by the shard's thread.
///
///     from a link ──> validate ──> FIB ──┬─ local ──────────────────────────> kernel interface
///                                        ├─ via, on link ──> TTL, MTU ──> neighbours ──> link.transmit
///     from the kernel ─────────> FIB ────┘                                    ├─ unknown: wait queue, Unresolved
///                                        └─ unreachable, TTL, MTU ──> ICMP error
///
/// A burst stays a burst: routes and neighbours are looked up for all of its packets at once, so that cache misses
/// overlap, and each link gets its packets in one call. The link's headers are prepared with the neighbour (a
/// link::Destination) and copied in front of each packet.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "datapath/forward/fib.h"
#include "datapath/forward/icmp_error.h"
#include "datapath/forward/ipv4.h"
#include "datapath/forward/neighbours.h"
#include "datapath/router/event_sink.h"
#include "datapath/router/port.h"
#include "pmd/base/time.h"
#include "pmd/base/token_bucket.h"

namespace verbline::router {

#define VERBLINE_ROUTER_COUNTERS(X)                                                        \
    X(forwarded_packets, "packets routed from a link to a link")                           \
    X(to_kernel_packets, "packets handed to the kernel")                                   \
    X(from_kernel_packets, "packets taken from the kernel")                                \
    X(fragmented_packets, "packets that were fragmented")                                  \
    X(dropped_no_route, "packets without a route, or with an unreachable one")             \
    X(dropped_ttl, "packets whose TTL ended here")                                         \
    X(dropped_mtu, "packets larger than the next link's MTU that must not be fragmented")  \
    X(dropped_neighbour_failed, "packets for a neighbour that does not answer")            \
    X(dropped_broadcast, "broadcast and multicast packets, which are not routed")          \
    X(dropped_no_mbuf, "fragments not sent because no mbuf was free")                      \
    X(dropped_kernel_full, "packets that the kernel did not take")                         \
    X(dropped_ipv6_from_kernel, "IPv6 packets from the kernel, which no link carries yet") \
    X(icmp_errors_sent, "ICMP errors sent")                                                \
    X(icmp_errors_withheld, "ICMP errors not sent: rate limit, or about a packet that must not cause one")

struct RouterCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_ROUTER_COUNTERS)
};

using Ports = std::vector<std::unique_ptr<ShardPort>>;

class Router {
public:
    /// `deliver_all_to_kernel`: for a host: every received packet goes to the kernel, whatever its destination.
    Router(Ports& ports, forward::Fib& fib, rte_mempool& pool, EventSink& events, bool deliver_all_to_kernel);
    Router(const Router&) = delete;
    Router& operator=(const Router&) = delete;

    /// Routes IP packets received on a link and takes ownership of them. At most pmd::max_burst.
    void from_link(ShardPort& from, pmd::Burst packets, Time now) noexcept;
    /// Sends IP packets that the kernel transmits on this port, and takes ownership of them. The kernel has routed
    /// them; the FIB gives their next hop.
    void from_kernel(ShardPort& out, pmd::Burst packets, Time now) noexcept;

    void set_neighbour(ShardPort& port, wire::Ipv4Address address, const link::Destination& to) noexcept;
    void forget_neighbour(ShardPort& port, wire::Ipv4Address address) noexcept;
    /// Answers the packets queued for it with ICMP host unreachable.
    void fail_neighbour(ShardPort& port, wire::Ipv4Address address, Time now) noexcept;
    /// Fails neighbours that were not resolved in time. Call about every 100 ms.
    void expire(Time now) noexcept;

    void counters(const CounterVisitor& visit) const;

private:
    /// Routed packets of a burst, and the neighbour for which each is meant.
    struct Outgoing {
        std::array<rte_mbuf*, pmd::max_burst> packets;
        std::array<forward::NeighbourKey, pmd::max_burst> neighbours;
        std::size_t size = 0;
    };

    ShardPort& port(InterfaceId id) { return *ports_[static_cast<std::size_t>(id)]; }
    /// A burst on its way to the FIB. Kept between polls, as filling it with zeros costs more than a lookup.
    struct Lookup {
        std::array<rte_mbuf*, pmd::max_burst> packets;
        std::array<wire::Ipv4Address, pmd::max_burst> destinations;
        std::array<forward::NextHop, pmd::max_burst> hops;
        std::size_t size = 0;
    };

    void add(rte_mbuf* packet, wire::Ipv4Address destination);
    void look_up();
    void route(ShardPort& from, std::size_t i, Time now);
    void route_from_kernel(ShardPort& out, std::size_t i, Time now);
    void gather(Outgoing& outgoing, ShardPort& out, rte_mbuf* packet, wire::Ipv4Address next_hop, Time now);
    void fragment(Outgoing& outgoing, ShardPort& out, rte_mbuf* packet, wire::Ipv4Address next_hop, Time now);
    void send(Outgoing& outgoing, Time now);
    void send_by_port(const Outgoing& outgoing, std::span<const link::Destination* const> to, Time now);
    void to_kernel(ShardPort& port, pmd::Burst packets);
    void refuse(rte_mbuf* packet, Counter& why, forward::IcmpError error, Time now);
    void undeliverable(pmd::Burst packets, Time now);
    static void discard(rte_mbuf* packet, Counter& why);

    Ports& ports_;
    forward::Fib& fib_;
    rte_mempool& pool_;
    EventSink& events_;
    bool deliver_all_to_kernel_;
    forward::NeighbourTable<link::Destination> neighbours_;
    TokenBucket icmp_limit_;
    Lookup lookup_;
    Outgoing outgoing_;
    CountersBy<forward::Ipv4Discard> ipv4_discards_;
    RouterCounters counters_;
};

}  // namespace verbline::router

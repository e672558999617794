// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The router (router.h) for one family: its forwarding table and its neighbours.
///
/// A burst stays a burst: routes and neighbours are looked up for all of its packets at once, so that cache misses
/// overlap, and each link gets its packets in one call. The link's headers are prepared with the neighbour (a
/// link::Destination) and copied in front of each packet. For each next hop that is a gateway, the router keeps where
/// its neighbour was found last. A packet whose route leads to a group of next hops takes the one of its flow; routes
/// without groups do not pay for this.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "datapath/forward/fib.h"
#include "datapath/forward/neighbours.h"
#include "datapath/router/event_sink.h"
#include "datapath/router/family.h"
#include "datapath/router/port.h"
#include "pmd/base/time.h"
#include "pmd/base/token_bucket.h"
#include "pmd/rss.h"

namespace verbline::router {

#define VERBLINE_ROUTER_COUNTERS(X)                                                                    \
    X(forwarded_packets, "packets routed from a link to a link")                                       \
    X(to_kernel_packets, "packets handed to the kernel")                                               \
    X(from_kernel_packets, "packets taken from the kernel")                                            \
    X(fragmented_packets, "packets that were fragmented")                                              \
    X(mss_clamped_packets, "TCP SYNs whose maximum segment size was lowered to a link's MTU")          \
    X(dropped_no_route, "packets without a route, or with an unreachable one")                         \
    X(dropped_ttl, "packets whose TTL or hop limit ended here")                                        \
    X(dropped_mtu, "packets larger than the next link's MTU that must not be fragmented")              \
    X(dropped_neighbour_failed, "packets for a neighbour that does not answer")                        \
    X(dropped_reverse_path, "packets whose source is not where the routes say, on a port that checks") \
    X(dropped_broadcast, "broadcast and multicast packets, which are not routed")                      \
    X(dropped_link_local, "IPv6 packets of or to link-local addresses, which do not leave their link") \
    X(dropped_no_mbuf, "fragments not sent because no mbuf was free")                                  \
    X(dropped_kernel_full, "packets that the kernel did not take")                                     \
    X(dropped_not_carried, "packets of a family for which there is no forwarding table, or no header") \
    X(icmp_errors_sent, "ICMP errors sent, of both families")                                          \
    X(icmp_errors_withheld, "ICMP errors not sent: rate limit, or about a packet that must not cause one")

struct RouterCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_ROUTER_COUNTERS)
};

/// What the routers of both families have in common.
struct RouterContext {
    Ports& ports;
    rte_mempool& pool;
    EventSink& events;
    bool deliver_all_to_kernel = false;
    bool clamps_mss = false;  ///< some port does
    TokenBucket icmp_limit;
    const pmd::FlowHash* flows = nullptr;  ///< null: all packets are of one flow
    RouterCounters counters{};
    forward::NeighbourCounters neighbour_counters{};

    ShardPort& port(InterfaceId id) { return *ports[static_cast<std::size_t>(id)]; }
    std::uint32_t flow_hash(rte_mbuf& packet) const;
    void to_kernel(ShardPort& port, pmd::Burst packets);
    static void discard(rte_mbuf* packet, Counter& why);
};

template <class Family>
class FamilyRouter {
public:
    using Address = typename Family::Address;
    using Fib = forward::BasicFib<Address>;

    /// `context` must outlive the router.
    FamilyRouter(RouterContext& context, Fib& fib);
    FamilyRouter(const FamilyRouter&) = delete;
    FamilyRouter& operator=(const FamilyRouter&) = delete;

    // As Router's, of packets of this family.

    void from_link(ShardPort& from, pmd::Burst packets, Time now) noexcept;
    /// The packets have their whole header.
    void from_kernel(ShardPort& out, pmd::Burst packets, Time now) noexcept;
    void set_neighbour(ShardPort& port, const Address& address, const link::Destination& to) noexcept;
    void forget_neighbour(ShardPort& port, const Address& address) noexcept;
    void fail_neighbour(ShardPort& port, const Address& address, Time now) noexcept;
    void expire(Time now) noexcept;
    /// Those of this family alone.
    void counters(const CounterVisitor& visit) const { discards_.each(visit); }

private:
    using NextHop = forward::BasicNextHop<Address>;
    using Neighbours = forward::NeighbourTable<link::Destination, Address>;
    using NeighbourKey = forward::BasicNeighbourKey<Address>;
    using Neighbour = typename Neighbours::HintedKey;
    using Error = typename Family::Error;

    /// Routed packets of a burst, and the neighbour for which each is meant.
    struct Outgoing {
        std::array<rte_mbuf*, pmd::max_burst> packets;
        std::array<Neighbour, pmd::max_burst> neighbours;
        std::size_t size = 0;
    };
    /// A burst on its way to the FIB. Kept between polls, as filling it with zeros costs more than a lookup.
    struct Lookup {
        std::array<rte_mbuf*, pmd::max_burst> packets;
        std::array<Address, pmd::max_burst> destinations;
        std::array<typename Fib::Index, pmd::max_burst> hops;
        std::size_t size = 0;
        std::size_t local = 0;  ///< of `packets`, the first ones: routed already, to the kernel
    };

    void add(rte_mbuf* packet, const Address& destination);
    void check_sources(const ShardPort& from);
    bool may_be_from(typename Fib::Index hop, const ShardPort& from) const;
    void look_up(const ShardPort* chosen = nullptr);
    void choose_members(const ShardPort* chosen);
    void route(std::size_t i, Time now);
    void pass_on(typename Fib::Index hop, const Address& destination, rte_mbuf* packet, Time now);
    void clamp_mss(const ShardPort& from, const ShardPort& out, rte_mbuf& packet);
    bool leaves_scope(const Address& destination, rte_mbuf* packet, Time now);
    void route_from_kernel(ShardPort& out, std::size_t i, Time now);
    // A Neighbour is passed by value: one that has an address is written in parts and read back whole, for which the
    // processor waits.
    Neighbour neighbour(ShardPort& out, typename Fib::Index hop, const Address& destination);
    void gather(Outgoing& outgoing, ShardPort& out, rte_mbuf* packet, Neighbour to, Time now);
    void gather_large(Outgoing& outgoing, ShardPort& out, rte_mbuf* packet, Neighbour to, Time now);
    void append(Outgoing& outgoing, rte_mbuf* packet, Neighbour to, Time now);
    void fragment(Outgoing& outgoing, ShardPort& out, rte_mbuf* packet, Neighbour to, Time now);
    void send(Outgoing& outgoing, Time now);
    void send_by_port(const Outgoing& outgoing, std::span<const link::Destination* const> to, Time now);
    void refuse(rte_mbuf* packet, Counter& why, const Error& error, Time now);
    void undeliverable(pmd::Burst packets, Time now);

    RouterContext& context_;
    Fib& fib_;
    Neighbours neighbours_;
    std::vector<typename Neighbours::Number>
        neighbour_hints_;  ///< of gateways in `neighbours_`, by the FIB's next-hop number
    Lookup lookup_;
    Outgoing outgoing_;
    CountersBy<typename Family::Discard> discards_;
};

extern template class FamilyRouter<Ipv4Family>;
extern template class FamilyRouter<Ipv6Family>;

}  // namespace verbline::router

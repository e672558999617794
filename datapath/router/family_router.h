// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The router (router.h) for one family: its forwarding table and its neighbours.
///
/// A burst stays a burst: routes and neighbours are looked up for all of its packets at once, so that cache misses
/// overlap, and each link gets its packets in one call (egress.h). The link's headers are prepared with the neighbour
/// (a link::Destination) and copied in front of each packet. A packet whose route leads to a group of next hops takes
/// the one of its flow; routes without groups do not pay for this. Ordinary packets from a link take a short way
/// (fast_path.h), which does the same; what is here is general.

#include <array>
#include <cstddef>

#include "datapath/forward/fib.h"
#include "datapath/router/egress.h"
#include "datapath/router/family.h"
#include "datapath/router/fast_path.h"
#include "datapath/router/multicast.h"
#include "datapath/router/router_context.h"
#include "pmd/base/time.h"

namespace verbline::router {

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
    std::size_t forward_frames(const ShardPort& from, link::EthernetInterface& link, pmd::Burst frames) noexcept {
        return fast_path_.forward_frames(from, link, frames);
    }
    void forward_to(ShardPort& from, ShardPort& out, pmd::Burst packets, Time now) noexcept;
    /// The packets have their whole header.
    void from_kernel(ShardPort& out, pmd::Burst packets, Time now) noexcept;
    void set_neighbour(ShardPort& port, const Address& address, const link::Destination& to, Time now) noexcept;
    void forget_neighbour(ShardPort& port, const Address& address) noexcept;
    void fail_neighbour(ShardPort& port, const Address& address, Time now) noexcept;
    void expire(Time now) noexcept;
    void set_group_route(const Address& group, const MulticastRoute& route) noexcept { multicast_.set(group, route); }
    /// Sends a packet, whose hop has been spent, to a group that was resolved on the link. From multicast_.
    void to_group(ShardPort& out, rte_mbuf* packet, const Address& group, Time now);
    /// Those of this family alone.
    void counters(const CounterVisitor& visit) const { discards_.each(visit); }
    const MulticastCounters& multicast_counters() const { return multicast_.counters(); }

private:
    using NextHop = forward::BasicNextHop<Address>;
    using NeighbourKey = forward::BasicNeighbourKey<Address>;
    using Error = typename Family::Error;

    /// A burst on its way to the FIB. Kept between polls, as filling it with zeros costs more than a lookup.
    struct Lookup {
        std::array<rte_mbuf*, pmd::max_burst> packets;
        std::array<Address, pmd::max_burst> destinations;
        std::array<typename Fib::Index, pmd::max_burst> hops;
        std::size_t size = 0;
        std::size_t local = 0;  ///< of `packets`, the first ones: routed already, to the kernel
    };

    using Adjacency = typename Egress<Family>::Adjacency;

    void admit(ShardPort& from, pmd::Burst packets);
    void to_kernel(ShardPort& from, Time now);
    void check_sources(const ShardPort& from);
    bool may_be_from(typename Fib::Index hop, const ShardPort& from) const;
    void look_up(const ShardPort* chosen = nullptr);
    void choose_members(const ShardPort* chosen);
    void route(Time now);
    void route_elsewhere(std::size_t i, Time now);
    bool pass_on(const Adjacency& adjacency, const Address& destination, rte_mbuf* packet, Time now);
    void clamp_mss(const ShardPort& from, const ShardPort& out, rte_mbuf& packet);
    bool leaves_scope(const Address& destination, rte_mbuf* packet, Time now);
    void route_from_kernel(ShardPort& out, std::size_t i, Time now);
    void to_group_from_kernel(ShardPort& out, rte_mbuf* packet, const Address& group, Time now);
    void flush(Time now);
    void refuse_too_large(Time now);
    NextHop way_back(const Address& address, const ShardPort& from, rte_mbuf& packet) const;
    void refuse(rte_mbuf* packet, Counter& why, const Error& error, Time now);
    void undeliverable(pmd::Burst packets, Time now);

    RouterContext& context_;
    Fib& fib_;
    Egress<Family> egress_;
    FastPath<Family> fast_path_;
    Lookup lookup_;
    CountersBy<typename Family::Discard> discards_;
    MulticastRouter<Family> multicast_;
};

extern template class FamilyRouter<Ipv4Family>;
extern template class FamilyRouter<Ipv6Family>;

}  // namespace verbline::router

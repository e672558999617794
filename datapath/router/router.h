// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// IP routing: route lookup, neighbours, TTL or hop limit, MTU, ICMP errors. One per shard, called by the shard's
/// thread.
///
///     from a link ──> validate ──> FIB ──┬─ local ──────────────────────────> kernel interface
///                                        ├─ via, on link ──> TTL, MTU ──> neighbours ──> link.transmit
///     from the kernel ─────────> FIB ────┘                                    ├─ unknown: wait queue, Unresolved
///                                        └─ unreachable, TTL, MTU ──> ICMP error
///
/// Each family has a router of its own (family_router.h); a link distinguishes the families, for the kernel's packets
/// this one does.

#include <optional>

#include "datapath/router/family_router.h"

namespace verbline::router {

class Router {
public:
    /// Null: the family is not carried.
    struct Fibs {
        forward::Fib* ipv4 = nullptr;  ///< never null
        forward::Ipv6Fib* ipv6 = nullptr;
    };

    /// `deliver_all_to_kernel`: for a host: every received packet goes to the kernel, regardless of its destination.
    /// `flows` chooses among several next hops; null: all packets take one. It must outlive the router.
    /// `max_neighbours`: of each family.
    Router(Ports& ports, const Fibs& fibs, rte_mempool& pool, EventSink& events, bool deliver_all_to_kernel,
           const TokenBucket& icmp_limit, const pmd::FlowHash* flows,
           std::uint32_t max_neighbours = forward::default_neighbours);
    Router(const Router&) = delete;
    Router& operator=(const Router&) = delete;

    /// Routes IPv4 packets received on a link and takes ownership of them. At most pmd::max_burst.
    void from_link(ShardPort& from, pmd::Burst packets, Time now) noexcept { ipv4_.from_link(from, packets, now); }
    /// The same for IPv6 packets, of which the control thread gets neighbour discovery.
    void from_link_ipv6(ShardPort& from, pmd::Burst packets, Time now) noexcept;
    /// Forwards frames of an Ethernet link, that of `from`, at most pmd::max_burst, as they are: of those in front as
    /// many as go the short way (fast_path.h). Returns how many, and takes ownership of these.
    std::size_t forward_frames(const ShardPort& from, link::EthernetInterface& link, pmd::Burst frames) noexcept;
    /// Sends packets received on a link, without its headers, by the ports that this one's program has chosen, whatever
    /// the routes say, and takes ownership of them. A route's gateway is the next hop if it is on that port, else the
    /// destination itself.
    void forward_to_ports(ShardPort& from, const program::Forwarded& packets, Time now) noexcept;
    /// Sends IP packets that the kernel transmits on this port, and takes ownership of them. The kernel has routed
    /// them; the FIB gives their next hop.
    void from_kernel(ShardPort& out, pmd::Burst packets, Time now) noexcept;

    // Neighbours by their address, which is IPv6, or IPv4 mapped.

    void set_neighbour(ShardPort& port, const wire::Gid& address, const link::Destination& to, Time now) noexcept;
    void forget_neighbour(ShardPort& port, const wire::Gid& address) noexcept;
    /// Answers the packets queued for it with ICMP host unreachable.
    void fail_neighbour(ShardPort& port, const wire::Gid& address, Time now) noexcept;
    void set_checks(ShardPort& port, bool clamp_mss, forward::ReversePathFilter reverse_path) noexcept;
    void set_group_route(const wire::Gid& group, const MulticastRoute& route) noexcept;
    /// Hands a packet of the control thread's to the port's kernel.
    void to_kernel(ShardPort& port, rte_mbuf* packet) noexcept { context_.to_kernel(port, {&packet, 1}); }
    /// Fails neighbours that were not resolved in time. Call about every 100 ms.
    void expire(Time now) noexcept;

    void counters(const CounterVisitor& visit) const;
    /// Times that a table had no room for a neighbour. Any thread.
    std::uint64_t neighbours_refused() const;

private:
    void forward_to(ShardPort& from, ShardPort& out, program::Family family, pmd::Burst burst, Time now);
    /// Calls `use(router, address)` with the router of the address's family, if there is one.
    template <class Use>
    void with_family(const wire::Gid& address, Use use);

    RouterContext context_;
    FamilyRouter<Ipv4Family> ipv4_;
    std::optional<FamilyRouter<Ipv6Family>> ipv6_;
};

}  // namespace verbline::router

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The router's part in multicast, for one family (family_router.h calls it): which packets to groups go on to other
/// links, and to which kernels.
///
///     from a link ──┬─ IGMP, MLD ──> also to the control thread, which learns from them who listens
///                   ├─ to a group of this link only ───────────────────────> its kernel
///                   └─ others ──> source by the FIB: from where it should come? TTL? ──┬─> each link with listeners
///                                                                                      └─> each kernel that listens
///     from a kernel ── IGMP, MLD ──> also to the control thread
///
/// The last link gets the packet itself. The others get replicas: their headers are copies, as each link puts others in
/// front of them; the payload behind is shared, where the device takes packets in parts, and otherwise copied.
///
/// What is ours, or comes by a way that does not lead to its source (RFC 1112; RFC 5110, 2.2), is not passed on, so
/// that nothing goes in circles.

#include <array>
#include <cstdint>

#include "datapath/forward/fib.h"
#include "datapath/router/event_sink.h"
#include "datapath/router/family.h"
#include "datapath/router/multicast_table.h"
#include "datapath/router/port.h"
#include "pmd/base/counter.h"
#include "pmd/base/token_bucket.h"

namespace verbline::router {

struct RouterContext;
template <class Family>
class FamilyRouter;

#define VERBLINE_MULTICAST_COUNTERS(X)                                                                     \
    X(multicast_routed_packets, "packets to groups that were routed to links, to kernels or to both")      \
    X(multicast_forwarded_packets, "packets to groups that were routed, for each link that they went to")  \
    X(multicast_kernel_copies, "packets to groups that were routed, for each kernel that got a copy")      \
    X(multicast_shared_replicas, "of these, replicas that share their payload")                            \
    X(multicast_dropped_no_listener, "packets to groups without listeners elsewhere")                      \
    X(multicast_dropped_own, "packets to groups that came back to this router, their source")              \
    X(multicast_dropped_reverse_path, "packets to groups, not routed: the way to their source is another") \
    X(multicast_dropped_ttl, "packets to groups, not routed: their TTL or hop limit ended here")           \
    X(multicast_dropped_scope, "packets to groups, not routed: from an address of one link, or of none")   \
    X(multicast_dropped_no_mbuf, "replicas of packets to groups not sent because no mbuf was free")        \
    X(multicast_dropped_table_full, "groups not routed because the table had no room")                     \
    X(membership_dropped, "IGMP and MLD packets that the control thread did not get: no mbuf, or too many events")

struct MulticastCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_MULTICAST_COUNTERS)
};

template <class Family>
class MulticastRouter {
public:
    using Address = typename Family::Address;
    using Fib = forward::BasicFib<Address>;

    MulticastRouter(RouterContext& context, Fib& fib) : context_(context), fib_(fib) {}
    MulticastRouter(const MulticastRouter&) = delete;
    MulticastRouter& operator=(const MulticastRouter&) = delete;

    /// Of packets that a link received and no route leads on, takes those to groups and passes copies on to `router`.
    /// What is for the port's kernel is moved to the front; returns how many that are.
    std::size_t from_link(FamilyRouter<Family>& router, ShardPort& from, pmd::Burst packets, Time now);
    /// A packet to a group that the kernel sends; stays the caller's.
    void from_kernel(const ShardPort& out, const rte_mbuf& packet) {
        if (Family::is_membership(packet)) report(out, true, packet);
    }
    void set(const Address& group, const MulticastRoute& route) {
        if (!table_.set(group, route)) counters_.multicast_dropped_table_full.add();
    }
    const MulticastCounters& counters() const { return counters_; }

private:
    /// Those of a burst that may go on.
    struct Pending {
        std::array<rte_mbuf*, pmd::max_burst> packets;
        std::array<Address, pmd::max_burst> sources, groups;
        std::array<typename Fib::Index, pmd::max_burst> hops;
        std::size_t size = 0;
    };

    void report(const ShardPort& port, bool from_kernel, const rte_mbuf& packet);
    void ask_about(const ShardPort& from, const Address& group, Time now);
    Counter* obstacle(const ShardPort& from, std::size_t i);
    bool comes_from(typename Fib::Index hop, const ShardPort& from) const;
    rte_mbuf* route(FamilyRouter<Family>& router, ShardPort& from, std::size_t i, Time now);
    void pass_on(FamilyRouter<Family>& router, rte_mbuf* packet, const Address& group, PortSet links, Time now);
    void to_kernels(const rte_mbuf& packet, PortSet kernels);
    rte_mbuf* copy_for_kernel(const rte_mbuf& packet);
    rte_mbuf* copy(const rte_mbuf& packet);
    rte_mbuf* replica(rte_mbuf& packet, const ShardPort& out);

    RouterContext& context_;
    Fib& fib_;
    MulticastTable<Address> table_;
    Pending pending_;
    TokenBucket questions_{20, 20};  ///< rate limit of UnknownGroup events
    MulticastCounters counters_;
};

extern template class MulticastRouter<Ipv4Family>;
extern template class MulticastRouter<Ipv6Family>;

}  // namespace verbline::router

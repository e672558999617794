// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the routers of both families (family_router.h) have in common: the ports, the way to their kernels, the
/// counters.

#include <cstdint>

#include "datapath/forward/neighbours.h"
#include "datapath/router/event_sink.h"
#include "datapath/router/port.h"
#include "pmd/base/counter.h"
#include "pmd/base/token_bucket.h"
#include "pmd/rss.h"

namespace verbline::router {

#define VERBLINE_ROUTER_COUNTERS(X)                                                                              \
    X(forwarded_packets, "packets routed from a link to a link")                                                 \
    X(rx_coalesced, "TCP segments that were appended to others and go on in one packet")                         \
    X(rx_coalesced_datagrams, "UDP datagrams that were appended to others for the kernel, which parts them")     \
    X(to_kernel_packets, "packets handed to the kernel")                                                         \
    X(from_kernel_packets, "packets taken from the kernel")                                                      \
    X(fragmented_packets, "packets that were fragmented")                                                        \
    X(fragments_made, "fragments that these became")                                                             \
    X(mss_clamped_packets, "TCP SYNs whose maximum segment size was lowered to a link's MTU")                    \
    X(dropped_no_route, "packets without a route, or with an unreachable one")                                   \
    X(dropped_ttl, "packets whose TTL or hop limit ended here")                                                  \
    X(dropped_mtu, "packets larger than the next link's MTU that must not be fragmented")                        \
    X(dropped_neighbour_failed, "packets for a neighbour that does not answer")                                  \
    X(dropped_reverse_path, "packets whose source is not where the routes say, on a port that checks")           \
    X(dropped_broadcast, "broadcasts, and the kernel's packets to groups, for which a link has no destination")  \
    X(dropped_program_group, "packets to groups or broadcasts that a port's program would send by another port") \
    X(dropped_link_local, "IPv6 packets of or to link-local addresses, which do not leave their link")           \
    X(dropped_no_mbuf, "fragments and segments not sent because no mbuf was free")                               \
    X(dropped_kernel_full, "packets that the kernel did not take")                                               \
    X(dropped_not_carried, "packets of a family for which there is no forwarding table, or no header")           \
    X(icmp_errors_sent, "ICMP errors sent, of both families")                                                    \
    X(icmp_errors_withheld, "ICMP errors not sent: rate limit, or about a packet that must not cause one")

struct RouterCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_ROUTER_COUNTERS)
};

/// Outlives both routers. Owned by Router (router.h), whose thread alone uses it.
struct RouterContext {
    Ports& ports;
    rte_mempool& pool;
    EventSink& events;
    bool deliver_all_to_kernel = false;
    bool clamps_mss = false;    ///< some port does
    bool connects = false;      ///< some port has connections, so that its neighbours' MTUs differ
    std::uint64_t tunnels = 0;  ///< kinds whose packets some link's device cuts: in them segments are coalesced (gro.h)
    TokenBucket icmp_limit;
    const pmd::FlowHash* flows = nullptr;                        ///< null: all packets are of one flow
    std::uint32_t max_neighbours = forward::default_neighbours;  ///< of each family
    RouterCounters counters{};
    forward::NeighbourCounters neighbour_counters{};

    ShardPort& port(InterfaceId id) { return *ports[static_cast<std::size_t>(id)]; }
    std::uint32_t flow_hash(rte_mbuf& packet) const;
    /// As offload::coalesce, and counts.
    std::size_t coalesce(pmd::Burst packets, std::uint64_t of_tunnels);
    void to_kernel(ShardPort& port, pmd::Burst packets);
    void cut_for_kernel(ShardPort& port, rte_mbuf* packet);
    void give_kernel(ShardPort& port, pmd::Burst packets);
    static void discard(rte_mbuf* packet, Counter& why);
};

}  // namespace verbline::router

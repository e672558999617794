// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/multicast.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "datapath/router/family_router.h"

namespace verbline::router {
namespace {

using forward::NextHopKind;

/// What a replica has of its own: all headers that are looked at or changed behind the router, up to TCP's without
/// options.
constexpr std::uint16_t own_bytes = 128;

PortSet bit(const ShardPort& port) {
    return PortSet{1} << static_cast<unsigned>(port.id);
}

/// Calls `use(port)` for each of the set.
template <class Use>
void each_port(Ports& ports, PortSet set, Use use) {
    for (; set != 0; set &= set - 1) {
        const auto i = static_cast<std::size_t>(std::countr_zero(set));
        if (i < ports.size()) use(*ports[i]);
    }
}

}  // namespace

template <class Family>
std::size_t MulticastRouter<Family>::from_link(FamilyRouter<Family>& router, ShardPort& from, pmd::Burst packets,
                                               Time now) {
    std::size_t kept = 0;
    pending_.size = 0;
    for (auto* packet : packets) {
        const auto group = Family::destination_of(*packet);
        const bool multicast = wire::is_multicast(group);
        if (multicast && Family::is_membership(*packet)) report(from, false, *packet);
        if (!multicast || Family::stays_on_link(group)) {
            packets[kept++] = packet;
            continue;
        }
        const auto i = pending_.size++;
        pending_.packets[i] = packet;
        pending_.groups[i] = group;
        pending_.sources[i] = Family::source_of(*packet);
    }
    const auto n = pending_.size;
    if (n == 0) return kept;
    fib_.lookup(std::span(pending_.sources).first(n), std::span(pending_.hops).first(n));
    for (std::size_t i = 0; i < n; ++i) {
        if (auto* const local = route(router, from, i, now)) packets[kept++] = local;
    }
    return kept;
}

/// Number `i` of those that may go on. Returns what is for the kernel of the port, or null.
template <class Family>
rte_mbuf* MulticastRouter<Family>::route(FamilyRouter<Family>& router, ShardPort& from, std::size_t i, Time now) {
    auto* const packet = pending_.packets[i];
    const auto& group = pending_.groups[i];
    const auto* const known = table_.find(group);
    const auto here = bit(from);
    if (known == nullptr) ask_about(from, group, now);
    const auto route = known != nullptr ? *known : MulticastRoute{};
    const bool local = (route.kernels & here) != 0;
    const auto links = route.links & ~here, kernels = route.kernels & ~here;

    Counter* reason = links == 0 && kernels == 0 ? &counters_.multicast_dropped_no_listener : obstacle(from, i);
    if (reason != nullptr) {
        if (local) {
            if (reason != &counters_.multicast_dropped_no_listener) reason->add();
            return packet;
        }
        context_.discard(packet, *reason);
        return nullptr;
    }
    counters_.multicast_routed_packets.add();
    auto* const for_kernel = local ? copy_for_kernel(*packet) : nullptr;
    Family::spend_hop(*packet);
    to_kernels(*packet, kernels);
    pass_on(router, packet, group, links, now);
    return for_kernel;
}

/// Why a packet must not go on; null if it may.
template <class Family>
Counter* MulticastRouter<Family>::obstacle(const ShardPort& from, std::size_t i) {
    if (Family::is_shared(pending_.sources[i])) return &counters_.multicast_dropped_scope;
    const auto hop = pending_.hops[i];
    if (!fib_.groups().holds(hop) && fib_.next_hop(hop).kind == NextHopKind::local) {
        return &counters_.multicast_dropped_own;
    }
    if (!comes_from(hop, from)) return &counters_.multicast_dropped_reverse_path;
    if (Family::hops_of(*pending_.packets[i]) <= 1) return &counters_.multicast_dropped_ttl;
    return nullptr;
}

/// Whether the route to a source leads by this port; of several next hops, one is enough.
template <class Family>
bool MulticastRouter<Family>::comes_from(typename Fib::Index hop, const ShardPort& from) const {
    const auto leads_there = [&](typename Fib::Index number) {
        return forward::passes(forward::ReversePathFilter::strict, fib_.next_hop(number), from.id);
    };
    const auto& groups = fib_.groups();
    return groups.holds(hop) ? std::ranges::any_of(groups.members(hop), leads_there) : leads_there(hop);
}

/// Takes ownership of the packet.
template <class Family>
void MulticastRouter<Family>::pass_on(FamilyRouter<Family>& router, rte_mbuf* packet, const Address& group,
                                      PortSet links, Time now) {
    if (links == 0) return rte_pktmbuf_free(packet);
    const auto last = PortSet{1} << (std::bit_width(links) - 1);
    each_port(context_.ports, links & ~last, [&](ShardPort& out) {
        auto* const one = replica(*packet, out);
        if (one == nullptr) return counters_.multicast_dropped_no_mbuf.add();
        counters_.multicast_forwarded_packets.add();
        router.to_group(out, one, group, now);
    });
    each_port(context_.ports, last, [&](ShardPort& out) {
        // Shared by now, its payload may not be changed, nor grow: a link that seals it does both.
        const bool whole = rte_mbuf_refcnt_read(packet) == 1 || out.ethernet() != nullptr;
        auto* const one = whole ? std::exchange(packet, nullptr) : copy(*packet);
        if (one == nullptr) return;
        counters_.multicast_forwarded_packets.add();
        router.to_group(out, one, group, now);
    });
    if (packet != nullptr) rte_pktmbuf_free(packet);
}

template <class Family>
void MulticastRouter<Family>::to_kernels(const rte_mbuf& packet, PortSet kernels) {
    each_port(context_.ports, kernels, [&](ShardPort& port) {
        if (auto* one = copy_for_kernel(packet)) context_.to_kernel(port, {&one, 1});
    });
}

template <class Family>
rte_mbuf* MulticastRouter<Family>::copy_for_kernel(const rte_mbuf& packet) {
    auto* const one = copy(packet);
    if (one != nullptr) counters_.multicast_kernel_copies.add();
    return one;
}

template <class Family>
rte_mbuf* MulticastRouter<Family>::copy(const rte_mbuf& packet) {
    auto* const one = rte_pktmbuf_copy(&packet, &context_.pool, 0, UINT32_MAX);
    if (one == nullptr) counters_.multicast_dropped_no_mbuf.add();
    return one;
}

/// A packet equal to `packet` that `out` may put headers in front of. Shares what is behind `own_bytes` if the device
/// takes chains and nothing is appended to them: on Ethernet.
template <class Family>
rte_mbuf* MulticastRouter<Family>::replica(rte_mbuf& packet, const ShardPort& out) {
    const bool chains = (out.link().capabilities().tx_offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0;
    const bool ethernet = std::holds_alternative<std::unique_ptr<link::EthernetInterface>>(out.any);
    if (!ethernet || !chains || packet.data_len <= own_bytes) {
        return rte_pktmbuf_copy(&packet, &context_.pool, 0, UINT32_MAX);
    }
    auto* const head = rte_pktmbuf_copy(&packet, &context_.pool, 0, own_bytes);
    if (head == nullptr) return nullptr;
    auto* const rest = rte_pktmbuf_clone(&packet, &context_.pool);
    if (rest == nullptr) return rte_pktmbuf_free(head), nullptr;
    rte_pktmbuf_adj(rest, own_bytes);
    if (rte_pktmbuf_chain(head, rest) != 0) return rte_pktmbuf_free(head), rte_pktmbuf_free(rest), nullptr;
    counters_.multicast_shared_replicas.add();
    return head;
}

/// The control thread gets a copy, as the kernel of the port may want the packet as well.
template <class Family>
void MulticastRouter<Family>::report(const ShardPort& port, bool from_kernel, const rte_mbuf& packet) {
    auto* const one = rte_pktmbuf_copy(&packet, &context_.pool, 0, UINT32_MAX);
    if (one != nullptr && context_.events.emit(MembershipHeard{port.id, from_kernel, one})) return;
    rte_pktmbuf_free(one);
    counters_.membership_dropped.add();
}

template <class Family>
void MulticastRouter<Family>::ask_about(const ShardPort& from, const Address& group, Time now) {
    if (questions_.take(now)) context_.events.emit(UnknownGroup{from.id, Family::gid_of(group)});
}

template class MulticastRouter<Ipv4Family>;
template class MulticastRouter<Ipv6Family>;

}  // namespace verbline::router

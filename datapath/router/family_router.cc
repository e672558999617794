// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/family_router.h"

#include <algorithm>
#include <utility>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "datapath/forward/fragment.h"
#include "datapath/forward/mss.h"
#include "datapath/offload/segmentation.h"

namespace verbline::router {
namespace {

using forward::NextHopKind;

/// The size of the largest packet on the link that this one becomes.
std::uint32_t size_on_link(const rte_mbuf& packet) {
    if ((packet.ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0) return packet.pkt_len;
    return packet.l3_len + packet.l4_len + packet.tso_segsz;
}

}  // namespace

std::uint32_t RouterContext::flow_hash(rte_mbuf& packet) const {
    rte_mbuf* const one = &packet;
    std::uint32_t hash = 0;
    if (flows != nullptr) flows->hash(pmd::Carries::ip, {&one, 1}, {&hash, 1});
    return hash;
}

void RouterContext::to_kernel(ShardPort& port, pmd::Burst packets) {
    const auto taken = port.kernel.tx_burst(port.link().queue(), packets);
    counters.to_kernel_packets.add(taken);
    for (auto* packet : packets.subspan(taken)) discard(packet, counters.dropped_kernel_full);
}

void RouterContext::discard(rte_mbuf* packet, Counter& why) {
    why.add();
    rte_pktmbuf_free(packet);
}

template <class Family>
FamilyRouter<Family>::FamilyRouter(RouterContext& context, Fib& fib)
    : context_(context),
      fib_(fib),
      neighbours_({.seed = rte_rdtsc()}, context.neighbour_counters),
      neighbour_hints_(fib.max_next_hops(), Neighbours::no_entry) {}

template <class Family>
void FamilyRouter<Family>::from_link(ShardPort& from, pmd::Burst packets, Time now) noexcept {
    if (context_.deliver_all_to_kernel) return context_.to_kernel(from, packets);
    lookup_.size = lookup_.local = 0;
    for (auto* packet : packets) {
        if (const auto reason = Family::check(*packet)) {
            context_.discard(packet, discards_[*reason]);
            continue;
        }
        packet->port = static_cast<std::uint16_t>(from.id);  // where an ICMP error about it would come from
        add(packet, Family::destination_of(*packet));
    }
    if (from.reverse_path != forward::ReversePath::off) [[unlikely]]
        check_sources(from);
    look_up();
    for (std::size_t i = 0; i < lookup_.size; ++i) route(i, now);
    if (lookup_.local > 0) context_.to_kernel(from, pmd::Burst(lookup_.packets).first(lookup_.local));
    send(outgoing_, now);
}

template <class Family>
void FamilyRouter<Family>::add(rte_mbuf* packet, const Address& destination) {
    lookup_.destinations[lookup_.size] = destination;
    lookup_.packets[lookup_.size++] = packet;
}

/// Drops those of the burst that do not pass the port's check of reverse paths.
template <class Family>
void FamilyRouter<Family>::check_sources(const ShardPort& from) {
    const auto n = std::exchange(lookup_.size, 0);
    std::array<Address, pmd::max_burst> sources;
    for (std::size_t i = 0; i < n; ++i) sources[i] = Family::source_of(*lookup_.packets[i]);
    fib_.lookup(std::span(sources).first(n), std::span(lookup_.hops).first(n));
    for (std::size_t i = 0; i < n; ++i) {
        auto* const packet = lookup_.packets[i];
        if (Family::is_shared(sources[i]) || may_be_from(lookup_.hops[i], from)) {
            add(packet, lookup_.destinations[i]);  // at most at `i`, which was read
        } else {
            context_.discard(packet, context_.counters.dropped_reverse_path);
        }
    }
}

/// Whether a packet on this port may be from where the next hop leads; of a group, from where any member does.
template <class Family>
bool FamilyRouter<Family>::may_be_from(typename Fib::Index hop, const ShardPort& from) const {
    const auto passes = [&](typename Fib::Index number) {
        return forward::passes(from.reverse_path, fib_.next_hop(number), from.id);
    };
    const auto& groups = fib_.groups();
    return groups.holds(hop) ? std::ranges::any_of(groups.members(hop), passes) : passes(hop);
}

/// `chosen`: the port to which the kernel has routed the burst; null: it is ours to route.
template <class Family>
void FamilyRouter<Family>::look_up(const ShardPort* chosen) {
    fib_.lookup(std::span(lookup_.destinations).first(lookup_.size), std::span(lookup_.hops).first(lookup_.size));
    if (fib_.groups().any()) [[unlikely]]
        choose_members(chosen);
}

/// Replaces each group by the member for the packet's flow; what is behind knows next hops alone.
template <class Family>
void FamilyRouter<Family>::choose_members(const ShardPort* chosen) {
    const auto& groups = fib_.groups();
    for (std::size_t i = 0; i < lookup_.size; ++i) {
        auto& hop = lookup_.hops[i];
        if (!groups.holds(hop)) continue;
        const auto flow = context_.flow_hash(*lookup_.packets[i]);
        hop = chosen != nullptr ? groups.member_on(chosen->id, hop, flow) : groups.member(hop, flow);
    }
}

/// Number `i` of the burst.
template <class Family>
void FamilyRouter<Family>::route(std::size_t i, Time now) {
    auto* packet = lookup_.packets[i];
    const auto& destination = lookup_.destinations[i];
    const auto& hop = fib_.next_hop(lookup_.hops[i]);
    auto& counters = context_.counters;
    if (hop.kind == NextHopKind::local || Family::is_group(destination)) {
        lookup_.packets[lookup_.local++] = packet;  // at most at `i`, which was read
        return;
    }
    if (leaves_scope(destination, packet, now)) return;
    if (hop.kind == NextHopKind::blackhole) return context_.discard(packet, counters.dropped_no_route);
    if (hop.kind == NextHopKind::unreachable) {
        return refuse(packet, counters.dropped_no_route, Family::no_route(), now);
    }
    pass_on(lookup_.hops[i], destination, packet, now);
}

/// To the next hop's link.
template <class Family>
void FamilyRouter<Family>::pass_on(typename Fib::Index hop, const Address& destination, rte_mbuf* packet, Time now) {
    auto& counters = context_.counters;
    if (Family::hops_of(*packet) <= 1) return refuse(packet, counters.dropped_ttl, Error::time_exceeded(), now);
    auto& out = context_.port(fib_.next_hop(hop).interface);
    const bool fits = size_on_link(*packet) <= out.mtu;
    if (!fits && !Family::may_fragment(*packet)) {
        return refuse(packet, counters.dropped_mtu, Family::too_big(out.mtu), now);
    }
    if (context_.clamps_mss) [[unlikely]]
        clamp_mss(*context_.ports[packet->port], out, *packet);
    Family::spend_hop(*packet);
    counters.forwarded_packets.add();
    const auto to = neighbour(out, hop, destination);
    if (!fits) return gather_large(outgoing_, out, packet, to, now);
    append(outgoing_, packet, to, now);
}

/// The segments that a SYN allows come back through both of these ports.
template <class Family>
void FamilyRouter<Family>::clamp_mss(const ShardPort& from, const ShardPort& out, rte_mbuf& packet) {
    if (!out.clamp_mss && !from.clamp_mss) return;
    auto mtu = out.clamp_mss ? out.mtu : from.mtu;
    if (from.clamp_mss) mtu = std::min(mtu, from.mtu);
    if (forward::clamp_mss(packet, mtu)) context_.counters.mss_clamped_packets.add();
}

/// Whether it may not be routed for its addresses, and has been dropped. RFC 4291, 2.5.6; the source is told if it
/// could have known better (RFC 4443, 3.1).
template <class Family>
bool FamilyRouter<Family>::leaves_scope(const Address& destination, rte_mbuf* packet, Time now) {
    if constexpr (Family::has_scopes) {
        auto& counter = context_.counters.dropped_link_local;
        if (wire::is_link_local(destination)) {
            context_.discard(packet, counter);
            return true;
        }
        if (wire::is_link_local(Family::source_of(*packet))) {
            refuse(packet, counter, Error::beyond_scope(), now);
            return true;
        }
    }
    return false;
}

template <class Family>
void FamilyRouter<Family>::from_kernel(ShardPort& out, pmd::Burst packets, Time now) noexcept {
    lookup_.size = 0;
    for (auto* packet : packets) {
        packet->port = static_cast<std::uint16_t>(out.id);
        add(packet, Family::destination_of(*packet));
    }
    look_up(&out);
    for (std::size_t i = 0; i < lookup_.size; ++i) route_from_kernel(out, i, now);
    send(outgoing_, now);
}

template <class Family>
void FamilyRouter<Family>::route_from_kernel(ShardPort& out, std::size_t i, Time now) {
    auto* const packet = lookup_.packets[i];
    const auto& destination = lookup_.destinations[i];
    const auto& hop = fib_.next_hop(lookup_.hops[i]);
    // A "local" destination from the kernel through this port can only be a broadcast: the kernel delivers its own
    // addresses itself.
    if ((Family::has_broadcast && hop.kind == NextHopKind::local) || Family::is_group(destination)) {
        link::Destination scratch;
        const auto* const to = Family::group(out, destination, scratch);
        if (to == nullptr) return context_.discard(packet, context_.counters.dropped_broadcast);
        return out.link().transmit(packet, *to);
    }
    gather(outgoing_, out, packet, neighbour(out, lookup_.hops[i], destination), now);
}

/// A socket bound to an interface may use it against the routes: then the destination is taken to be on the link.
template <class Family>
auto FamilyRouter<Family>::neighbour(ShardPort& out, typename Fib::Index hop, const Address& destination) -> Neighbour {
    const auto& next = fib_.next_hop(hop);
    if (next.kind != NextHopKind::via || next.interface != out.id) return {{out.id, destination}};
    return {{out.id, next.gateway}, &neighbour_hints_[hop]};
}

/// Adds a packet to those that are sent at the end of the burst.
template <class Family>
void FamilyRouter<Family>::gather(Outgoing& outgoing, ShardPort& out, rte_mbuf* packet, Neighbour to, Time now) {
    if (size_on_link(*packet) > out.mtu) return gather_large(outgoing, out, packet, to, now);
    append(outgoing, packet, to, now);
}

/// A packet larger than the MTU. What is segmented anyway is segmented smaller: the result is the same as if its sender
/// had known the MTU.
template <class Family>
void FamilyRouter<Family>::gather_large(Outgoing& outgoing, ShardPort& out, rte_mbuf* packet, Neighbour to, Time now) {
    if ((packet->ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0) return fragment(outgoing, out, packet, to, now);
    offload::limit_segments(*packet, out.mtu);
    append(outgoing, packet, to, now);
}

/// A packet that fits. Those that are as many as one burst holds are sent first.
template <class Family>
void FamilyRouter<Family>::append(Outgoing& outgoing, rte_mbuf* packet, Neighbour to, Time now) {
    if (outgoing.size == outgoing.packets.size()) send(outgoing, now);
    neighbours_.prefetch(to);
    outgoing.packets[outgoing.size] = packet;
    outgoing.neighbours[outgoing.size++] = to;
}

/// What is left to be fragmented where routers may not is the kernel's, which knows the MTU.
template <class Family>
void FamilyRouter<Family>::fragment(Outgoing& outgoing, ShardPort& out, rte_mbuf* packet, Neighbour to, Time now) {
    if constexpr (!Family::fragments) {
        context_.discard(packet, context_.counters.dropped_mtu);
    } else {
        std::array<rte_mbuf*, forward::max_fragments> fragments;
        const auto n = forward::fragment(*packet, out.mtu, context_.pool, fragments);
        if (n == 0) return context_.discard(packet, context_.counters.dropped_no_mbuf);
        rte_pktmbuf_free(packet);
        context_.counters.fragmented_packets.add();
        for (auto* piece : std::span(fragments).first(n)) gather(outgoing, out, piece, to, now);
    }
}

/// Sends what was gathered, in the order in which it came, and begins anew.
template <class Family>
void FamilyRouter<Family>::send(Outgoing& outgoing, Time now) {
    const auto n = std::exchange(outgoing.size, 0);
    if (n == 0) return;
    const auto neighbours = std::span(outgoing.neighbours).first(n);
    std::array<const link::Destination*, pmd::max_burst> found;
    const auto to = std::span(found).first(n);
    neighbours_.lookup(neighbours, to);
    const auto first = neighbours.front().key.interface;
    bool plain = true;  // all on one port, to neighbours that are known
    for (std::size_t i = 0; i < n; ++i) plain &= to[i] != nullptr && neighbours[i].key.interface == first;
    if (!plain) return send_by_port(outgoing, to, now);
    context_.port(first).link().transmit(pmd::Burst(outgoing.packets).first(n), to);
}

template <class Family>
void FamilyRouter<Family>::send_by_port(const Outgoing& outgoing, std::span<const link::Destination* const> to,
                                        Time now) {
    for (auto& port : context_.ports) {
        std::array<rte_mbuf*, pmd::max_burst> packets;
        std::array<const link::Destination*, pmd::max_burst> destinations;
        std::size_t n = 0;
        for (std::size_t i = 0; i < to.size(); ++i) {
            if (to[i] == nullptr || outgoing.neighbours[i].key.interface != port->id) continue;
            packets[n] = outgoing.packets[i];
            destinations[n++] = to[i];
        }
        if (n > 0) port->link().transmit(pmd::Burst(packets).first(n), link::Destinations(destinations).first(n));
    }
    for (std::size_t i = 0; i < to.size(); ++i) {
        if (to[i] != nullptr) continue;
        const auto& key = outgoing.neighbours[i].key;
        if (neighbours_.enqueue(key, outgoing.packets[i], now) == forward::Enqueued::first) {
            context_.events.emit(Unresolved{key.interface, Family::gid_of(key.address)});
        }
    }
}

/// Drops the packet and sends an ICMP error to its source, from the address of the port on which it arrived. The source
/// may be this host.
template <class Family>
void FamilyRouter<Family>::refuse(rte_mbuf* packet, Counter& why, const Error& error, Time now) {
    auto& from = *context_.ports[packet->port];
    auto& counters = context_.counters;
    const auto source = Family::error_source(context_.ports, from, *packet);
    auto* message = source != Address{} && context_.icmp_limit.take(now)
                        ? Family::make_error(*packet, error, source, context_.pool)
                        : nullptr;
    context_.discard(packet, why);
    if (message == nullptr) return counters.icmp_errors_withheld.add();
    counters.icmp_errors_sent.add();
    const auto destination = Family::destination_of(*message);
    NextHop hop{NextHopKind::on_link, from.id};
    bool routed = true;
    if constexpr (Family::has_scopes) routed = !wire::is_link_local(destination);
    typename Fib::Index number{};
    if (routed) {
        fib_.lookup({&destination, 1}, {&number, 1});
        if (fib_.groups().holds(number)) number = fib_.groups().member(number, context_.flow_hash(*message));
        hop = fib_.next_hop(number);
    }
    if (hop.kind == NextHopKind::local) return context_.to_kernel(from, {&message, 1});
    if (hop.kind != NextHopKind::on_link && hop.kind != NextHopKind::via) {
        return context_.discard(message, counters.dropped_no_route);
    }
    Outgoing answer;
    const auto& next_hop = hop.kind == NextHopKind::via ? hop.gateway : destination;
    gather(answer, context_.port(hop.interface), message, {{hop.interface, next_hop}}, now);
    send(answer, now);
}

template <class Family>
void FamilyRouter<Family>::set_neighbour(ShardPort& port, const Address& address,
                                         const link::Destination& to) noexcept {
    auto set = neighbours_.set({port.id, address}, to);
    if (!set.stored) return;
    for (auto* packet : set.waited.span()) port.link().transmit(packet, to);
}

template <class Family>
void FamilyRouter<Family>::forget_neighbour(ShardPort& port, const Address& address) noexcept {
    neighbours_.remove({port.id, address});
}

template <class Family>
void FamilyRouter<Family>::fail_neighbour(ShardPort& port, const Address& address, Time now) noexcept {
    auto waited = neighbours_.fail({port.id, address});
    undeliverable(waited.span(), now);
}

template <class Family>
void FamilyRouter<Family>::undeliverable(pmd::Burst packets, Time now) {
    for (auto* packet : packets) {
        refuse(packet, context_.counters.dropped_neighbour_failed, Family::neighbour_unreachable(), now);
    }
}

template <class Family>
void FamilyRouter<Family>::expire(Time now) noexcept {
    neighbours_.expire(now, [&](const NeighbourKey&, auto waited) { undeliverable(waited.span(), now); });
}

template class FamilyRouter<Ipv4Family>;
template class FamilyRouter<Ipv6Family>;

}  // namespace verbline::router

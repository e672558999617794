// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/router.h"

#include <algorithm>
#include <utility>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "datapath/forward/fragment.h"
#include "datapath/offload/packet.h"
#include "datapath/offload/segmentation.h"
#include "datapath/wire/ipv4.h"

namespace verbline::router {
namespace {

using forward::NextHop;
using wire::Ipv4;
using wire::Ipv4Address;

using Ipv4View = wire::View<Ipv4>;

constexpr Ipv4Address limited_broadcast{0xffffffff};

/// Of a packet that has been validated.
template <auto member>
auto field(const rte_mbuf& packet) {
    return Ipv4View::over(offload::first_segment(packet))->get<member>();
}

Ipv4Address destination_of(const rte_mbuf& packet) {
    return field<&Ipv4::destination>(packet);
}

/// The size of the largest packet on the link that this one becomes.
std::uint32_t size_on_link(const rte_mbuf& packet) {
    if ((packet.ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0) return packet.pkt_len;
    return packet.l3_len + packet.l4_len + packet.tso_segsz;
}

}  // namespace

Router::Router(Ports& ports, forward::Fib& fib, rte_mempool& pool, EventSink& events, bool deliver_all_to_kernel)
    : ports_(ports),
      fib_(fib),
      pool_(pool),
      events_(events),
      deliver_all_to_kernel_(deliver_all_to_kernel),
      neighbours_({.seed = rte_rdtsc()}) {}

void Router::from_link(ShardPort& from, pmd::Burst packets, Time now) noexcept {
    if (deliver_all_to_kernel_) return to_kernel(from, packets);
    lookup_.size = 0;
    for (auto* packet : packets) {
        if (const auto reason = forward::check_ipv4(*packet)) {
            discard(packet, ipv4_discards_[*reason]);
            continue;
        }
        packet->port = static_cast<std::uint16_t>(from.id);  // where an ICMP error about it would come from
        add(packet, destination_of(*packet));
    }
    look_up();
    for (std::size_t i = 0; i < lookup_.size; ++i) route(from, i, now);
    send(outgoing_, now);
}

void Router::add(rte_mbuf* packet, Ipv4Address destination) {
    lookup_.destinations[lookup_.size] = destination;
    lookup_.packets[lookup_.size++] = packet;
}

void Router::look_up() {
    fib_.lookup(std::span(lookup_.destinations).first(lookup_.size), std::span(lookup_.hops).first(lookup_.size));
}

/// Number `i` of the burst.
void Router::route(ShardPort& from, std::size_t i, Time now) {
    auto* packet = lookup_.packets[i];
    const auto destination = lookup_.destinations[i];
    const auto& hop = lookup_.hops[i];
    if (hop.kind == NextHop::Kind::local || destination == limited_broadcast || wire::is_multicast(destination)) {
        return to_kernel(from, {&packet, 1});
    }
    if (hop.kind == NextHop::Kind::blackhole) return discard(packet, counters_.dropped_no_route);
    if (hop.kind == NextHop::Kind::unreachable) {
        return refuse(packet, counters_.dropped_no_route, forward::IcmpError::net_unreachable(), now);
    }
    if (field<&Ipv4::time_to_live>(*packet) <= 1) {
        return refuse(packet, counters_.dropped_ttl, forward::IcmpError::time_exceeded(), now);
    }
    auto& out = port(hop.interface);
    if (size_on_link(*packet) > out.mtu && field<&Ipv4::dont_fragment>(*packet)) {
        return refuse(packet, counters_.dropped_mtu, forward::IcmpError::fragmentation_needed(out.mtu), now);
    }
    forward::decrement_ttl(*packet);
    counters_.forwarded_packets.add();
    gather(outgoing_, out, packet, hop.kind == NextHop::Kind::via ? hop.gateway : destination, now);
}

void Router::from_kernel(ShardPort& out, pmd::Burst packets, Time now) noexcept {
    counters_.from_kernel_packets.add(packets.size());
    lookup_.size = 0;
    for (auto* packet : packets) {
        packet->port = static_cast<std::uint16_t>(out.id);
        const auto header = Ipv4View::over(offload::first_segment(*packet));
        if (!header || wire::load8(header->bytes(), 0) >> 4 != 4) {
            discard(packet, counters_.dropped_ipv6_from_kernel);
            continue;
        }
        add(packet, header->get<&Ipv4::destination>());
    }
    look_up();
    for (std::size_t i = 0; i < lookup_.size; ++i) route_from_kernel(out, i, now);
    send(outgoing_, now);
}

void Router::route_from_kernel(ShardPort& out, std::size_t i, Time now) {
    auto* const packet = lookup_.packets[i];
    const auto destination = lookup_.destinations[i];
    const auto& hop = lookup_.hops[i];
    // A "local" destination from the kernel through this port can only be a broadcast: the kernel delivers its own
    // addresses itself.
    if (hop.kind == NextHop::Kind::local || destination == limited_broadcast || wire::is_multicast(destination)) {
        if (!out.broadcast) return discard(packet, counters_.dropped_broadcast);
        return out.link().transmit(packet, *out.broadcast);
    }
    // A socket bound to the interface may use it against the routes: then the destination is taken to be on the link.
    const bool by_gateway = hop.kind == NextHop::Kind::via && hop.interface == out.id;
    gather(outgoing_, out, packet, by_gateway ? hop.gateway : destination, now);
}

/// Adds a packet to those that are sent at the end of the burst, or as soon as they are as many as one burst holds.
void Router::gather(Outgoing& outgoing, ShardPort& out, rte_mbuf* packet, Ipv4Address next_hop, Time now) {
    if (size_on_link(*packet) > out.mtu) [[unlikely]] {
        // What is segmented anyway is segmented smaller: the result is the same as if its sender had known the MTU.
        if ((packet->ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0) return fragment(outgoing, out, packet, next_hop, now);
        offload::limit_segments(*packet, out.mtu);
    }
    if (outgoing.size == outgoing.packets.size()) send(outgoing, now);
    const forward::NeighbourKey key{out.id, next_hop};
    neighbours_.prefetch(key);
    outgoing.packets[outgoing.size] = packet;
    outgoing.neighbours[outgoing.size++] = key;
}

void Router::fragment(Outgoing& outgoing, ShardPort& out, rte_mbuf* packet, Ipv4Address next_hop, Time now) {
    std::array<rte_mbuf*, forward::max_fragments> fragments;
    const auto n = forward::fragment(*packet, out.mtu, pool_, fragments);
    if (n == 0) return discard(packet, counters_.dropped_no_mbuf);
    rte_pktmbuf_free(packet);
    counters_.fragmented_packets.add();
    for (auto* piece : std::span(fragments).first(n)) gather(outgoing, out, piece, next_hop, now);
}

/// Sends what was gathered, in the order in which it came, and begins anew.
void Router::send(Outgoing& outgoing, Time now) {
    const auto n = std::exchange(outgoing.size, 0);
    if (n == 0) return;
    const auto neighbours = std::span(outgoing.neighbours).first(n);
    std::array<const link::Destination*, pmd::max_burst> found;
    const auto to = std::span(found).first(n);
    neighbours_.lookup(neighbours, to);
    const auto first = neighbours.front().interface;
    bool plain = true;  // all on one port, to neighbours that are known
    for (std::size_t i = 0; i < n; ++i) plain &= to[i] != nullptr && neighbours[i].interface == first;
    if (!plain) return send_by_port(outgoing, to, now);
    port(first).link().transmit(pmd::Burst(outgoing.packets).first(n), to);
}

void Router::send_by_port(const Outgoing& outgoing, std::span<const link::Destination* const> to, Time now) {
    for (auto& port : ports_) {
        std::array<rte_mbuf*, pmd::max_burst> packets;
        std::array<const link::Destination*, pmd::max_burst> destinations;
        std::size_t n = 0;
        for (std::size_t i = 0; i < to.size(); ++i) {
            if (to[i] == nullptr || outgoing.neighbours[i].interface != port->id) continue;
            packets[n] = outgoing.packets[i];
            destinations[n++] = to[i];
        }
        if (n > 0) port->link().transmit(pmd::Burst(packets).first(n), link::Destinations(destinations).first(n));
    }
    for (std::size_t i = 0; i < to.size(); ++i) {
        if (to[i] != nullptr) continue;
        const auto& key = outgoing.neighbours[i];
        if (neighbours_.enqueue(key, outgoing.packets[i], now) == forward::Enqueued::first) {
            events_.emit(Unresolved{key.interface, key.address});
        }
    }
}

void Router::to_kernel(ShardPort& port, pmd::Burst packets) {
    const auto taken = port.kernel.tx_burst(port.link().queue(), packets);
    counters_.to_kernel_packets.add(taken);
    for (auto* packet : packets.subspan(taken)) discard(packet, counters_.dropped_kernel_full);
}

/// Drops the packet and sends an ICMP error to its source, from the address of the port on which it arrived. The source
/// may be this host.
void Router::refuse(rte_mbuf* packet, Counter& why, forward::IcmpError error, Time now) {
    auto& from = *ports_[packet->port];
    auto* message = from.address != Ipv4Address{} && icmp_limit_.take(now)
                        ? forward::icmp_error(*packet, error, from.address, pool_)
                        : nullptr;
    discard(packet, why);
    if (message == nullptr) return counters_.icmp_errors_withheld.add();
    counters_.icmp_errors_sent.add();
    const auto destination = destination_of(*message);
    NextHop hop;
    fib_.lookup({&destination, 1}, {&hop, 1});
    if (hop.kind == NextHop::Kind::local) return to_kernel(from, {&message, 1});
    if (hop.kind != NextHop::Kind::on_link && hop.kind != NextHop::Kind::via) {
        return discard(message, counters_.dropped_no_route);
    }
    Outgoing answer;
    gather(answer, port(hop.interface), message, hop.kind == NextHop::Kind::via ? hop.gateway : destination, now);
    send(answer, now);
}

void Router::set_neighbour(ShardPort& port, Ipv4Address address, const link::Destination& to) noexcept {
    auto set = neighbours_.set({port.id, address}, to);
    if (!set.stored) return;
    for (auto* packet : set.waited.span()) port.link().transmit(packet, to);
}

void Router::forget_neighbour(ShardPort& port, Ipv4Address address) noexcept {
    neighbours_.remove({port.id, address});
}

void Router::fail_neighbour(ShardPort& port, Ipv4Address address, Time now) noexcept {
    auto waited = neighbours_.fail({port.id, address});
    undeliverable(waited.span(), now);
}

void Router::undeliverable(pmd::Burst packets, Time now) {
    for (auto* packet : packets) {
        refuse(packet, counters_.dropped_neighbour_failed, forward::IcmpError::host_unreachable(), now);
    }
}

void Router::expire(Time now) noexcept {
    neighbours_.expire(now, [&](const forward::NeighbourKey&, auto waited) { undeliverable(waited.span(), now); });
}

void Router::discard(rte_mbuf* packet, Counter& why) {
    why.add();
    rte_pktmbuf_free(packet);
}

void Router::counters(const CounterVisitor& visit) const {
    counters_.each(visit);
    neighbours_.counters().each(visit);
    ipv4_discards_.each(visit);
}

}  // namespace verbline::router

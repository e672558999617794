// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/egress.h"

#include <span>
#include <utility>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "datapath/forward/fragment.h"

namespace verbline::router {

template <class Family>
Egress<Family>::Egress(RouterContext& context, const Fib& fib)
    : context_(context),
      fib_(fib),
      neighbours_({.capacity = context.max_neighbours, .seed = rte_rdtsc()}, context.neighbour_counters),
      hints_(fib.max_next_hops(), Neighbours::no_entry) {
    if (context.connects) too_large_.reserve(most_too_large);
}

template <class Family>
Egress<Family>::~Egress() {
    for (const auto& each : too_large_) rte_pktmbuf_free(each.packet);
}

template <class Family>
void Egress<Family>::send_now(ShardPort& out, rte_mbuf* packet, Neighbour to, Time now) {
    Outgoing one;
    gather(one, out, packet, to, now);
    send(one, now);
}

/// What is segmented anyway is segmented smaller: the result is the same as if its sender had known the MTU.
template <class Family>
void Egress<Family>::gather(Outgoing& outgoing, ShardPort& out, rte_mbuf* packet, Neighbour to, Time now) {
    if (size_on_link(*packet) > out.mtu) {
        if ((packet->ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0) return fragment(outgoing, out, packet, to, now);
        offload::limit_segments(*packet, out.mtu);
    }
    append(outgoing, out, packet, to, now);
}

/// Fragments a packet, which is freed; none, if there is no memory.
template <class Family>
std::span<rte_mbuf*> Egress<Family>::cut(rte_mbuf* packet, std::uint32_t mtu, Fragments& out) {
    const auto n = forward::fragment(*packet, mtu, context_.pool, out);
    if (n == 0) return context_.discard(packet, context_.counters.dropped_no_mbuf), std::span<rte_mbuf*>();
    rte_pktmbuf_free(packet);
    context_.counters.fragmented_packets.add();
    context_.counters.fragments_made.add(n);
    return std::span(out).first(n);
}

/// What is left to be fragmented where routers may not is the kernel's, which knows the MTU.
template <class Family>
void Egress<Family>::fragment(Outgoing& outgoing, ShardPort& out, rte_mbuf* packet, Neighbour to, Time now) {
    if constexpr (!Family::fragments) {
        context_.discard(packet, context_.counters.dropped_mtu);
    } else {
        Fragments fragments;
        for (auto* piece : cut(packet, out.mtu, fragments)) append(outgoing, out, piece, to, now);
    }
}

template <class Family>
void Egress<Family>::send(Outgoing& outgoing, Time now) {
    auto n = std::exchange(outgoing.size, 0);
    if (n == 0) return;
    bool plain = std::exchange(outgoing.plain, true);
    if (!plain) plain = look_up_neighbours(outgoing, n);
    if (context_.connects) [[unlikely]] {
        n = drop_too_large(outgoing, n);
        if (n == 0) return;
    }
    if (!plain) {
        send_by_port(pmd::Burst(outgoing.packets).first(n), std::span(outgoing.ports).first(n),
                     link::Destinations(outgoing.to).first(n));
        return await_neighbours(outgoing, n, now);
    }
    outgoing.ports.front()->link().transmit(pmd::Burst(outgoing.packets).first(n),
                                            link::Destinations(outgoing.to).first(n));
}

/// Where neighbours differ in what they take: whether the packet fits this one, segmented smaller if that helps. Else
/// it has been sent in fragments, or set aside.
template <class Family>
bool Egress<Family>::fits(ShardPort& out, rte_mbuf*& packet, const link::Destination& to) {
    const auto mtu = out.connections != nullptr ? out.connections->mtu_to(to) : out.mtu;
    if (packet->pkt_len <= mtu || size_on_link(*packet) <= mtu) return true;
    if ((packet->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0) return offload::limit_segments(*packet, mtu), true;
    if constexpr (Family::fragments) {
        if (Family::may_fragment(*packet)) {
            Fragments fragments;
            for (auto* piece : cut(packet, mtu, fragments)) out.link().transmit(piece, to);
            return false;
        }
    }
    if (too_large_.size() == most_too_large) return context_.discard(packet, context_.counters.dropped_mtu), false;
    too_large_.push_back({packet, mtu});
    return false;
}

/// Returns how many of the first `n` are left: those that fit their neighbours, or do not know them yet.
template <class Family>
std::size_t Egress<Family>::drop_too_large(Outgoing& outgoing, std::size_t n) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < n; ++i) {
        if (outgoing.to[i] != nullptr && !fits(*outgoing.ports[i], outgoing.packets[i], *outgoing.to[i])) continue;
        outgoing.packets[kept] = outgoing.packets[i];
        outgoing.ports[kept] = outgoing.ports[i];
        outgoing.neighbours[kept] = outgoing.neighbours[i];
        outgoing.to[kept++] = outgoing.to[i];
    }
    return kept;
}

template <class Family>
void Egress<Family>::send_to(ShardPort& out, rte_mbuf* packet, const link::Destination& to) {
    if (!context_.connects || fits(out, packet, to)) out.link().transmit(packet, to);
}

/// Finds the destinations that are not known yet. Returns whether all are, and on one port.
template <class Family>
bool Egress<Family>::look_up_neighbours(Outgoing& outgoing, std::size_t n) {
    bool plain = true;
    for (std::size_t i = 0; i < n; ++i) {
        if (outgoing.to[i] == nullptr) neighbours_.prefetch_entry(outgoing.neighbours[i].key);
    }
    for (std::size_t i = 0; i < n; ++i) {
        auto& to = outgoing.to[i];
        if (to == nullptr) to = neighbours_.lookup_by_index(outgoing.neighbours[i]);
        plain &= to != nullptr && outgoing.ports[i] == outgoing.ports.front();
    }
    return plain;
}

template <class Family>
void Egress<Family>::send_by_port(std::span<rte_mbuf* const> packets, std::span<ShardPort* const> ports,
                                  std::span<const link::Destination* const> to) {
    for (auto& port : context_.ports) {
        std::array<rte_mbuf*, pmd::max_burst> its_packets;
        std::array<const link::Destination*, pmd::max_burst> its_to;
        std::size_t size = 0;
        for (std::size_t i = 0; i < packets.size(); ++i) {
            if (to[i] == nullptr || ports[i] != port.get()) continue;
            its_packets[size] = packets[i];
            its_to[size++] = to[i];
        }
        if (size == 0) continue;
        port->link().transmit(pmd::Burst(its_packets).first(size), link::Destinations(its_to).first(size));
    }
}

template <class Family>
void Egress<Family>::await_neighbours(const Outgoing& outgoing, std::size_t n, Time now) {
    for (std::size_t i = 0; i < n; ++i) {
        if (outgoing.to[i] != nullptr) continue;
        const auto& key = outgoing.neighbours[i].key;
        if (neighbours_.enqueue(key, outgoing.packets[i], now) == forward::Enqueued::first) {
            context_.events.emit(Unresolved{key.interface, Family::gid_of(key.address)});
        }
    }
}

template <class Family>
void Egress<Family>::set_neighbour(ShardPort& port, const Address& address, const link::Destination& to) {
    auto set = neighbours_.set({port.id, address}, to);
    if (!set.stored) return;
    for (auto* packet : set.waited.span()) send_to(port, packet, to);
}

template class Egress<Ipv4Family>;
template class Egress<Ipv6Family>;

}  // namespace verbline::router

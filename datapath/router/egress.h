// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The last part of routing, for one family (family_router.h calls it): packets for which a next hop is chosen go to
/// their neighbours.
///
///     append, gather ──> packets of a burst, each with its port and its neighbour
///     flush ──┬─ all on one port, to known neighbours ──> link.transmit, once
///             └─ others ──> looked up together ──┬─ known ────> link.transmit, once for each port
///                                                └─ unknown ──> they wait in the table; an event asks for resolution
///
/// For each next hop that is a gateway, it keeps where its neighbour was found last (forward::NeighbourTable's hint).

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "datapath/forward/fib.h"
#include "datapath/forward/fragment.h"
#include "datapath/forward/neighbours.h"
#include "datapath/link/destination.h"
#include "datapath/offload/segmentation.h"
#include "datapath/router/family.h"
#include "datapath/router/router_context.h"
#include "pmd/base/time.h"

namespace verbline::router {

/// The size of the largest packet on the link that this one becomes.
inline std::uint32_t size_on_link(const rte_mbuf& packet) {
    if ((packet.ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0) return packet.pkt_len;
    return offload::headers_of(packet) + packet.tso_segsz;
}

/// Owned by its FamilyRouter. Packets that are appended or gathered become its own.
template <class Family>
class Egress {
public:
    using Address = typename Family::Address;
    using Fib = forward::BasicFib<Address>;
    using Neighbours = forward::NeighbourTable<link::Destination, Address>;
    using NeighbourKey = forward::BasicNeighbourKey<Address>;
    /// A Neighbour is passed by value: one that has an address is written in parts and read back whole, for which the
    /// processor waits.
    using Neighbour = typename Neighbours::HintedKey;

    /// Both must outlive it.
    Egress(RouterContext& context, const Fib& fib);
    ~Egress();
    Egress(const Egress&) = delete;
    Egress& operator=(const Egress&) = delete;

    /// The neighbour on port `out` to which next hop `hop` leads for this destination. A socket bound to an interface
    /// may use it against the routes: then the destination is taken to be on the link.
    Neighbour neighbour(const ShardPort& out, typename Fib::Index hop, const Address& destination) {
        const auto& next = fib_.next_hop(hop);
        if (next.kind != forward::NextHopKind::via || next.interface != out.id) return {{out.id, destination}};
        return {{out.id, next.gateway}, &hints_[hop]};
    }

    /// A next hop with its port and, of a gateway, the rewrite. Kept from packet to packet of a burst, as most follow
    /// the one in front. Valid while neighbours do not change.
    struct Adjacency {
        typename Fib::Index hop{};
        ShardPort* out = nullptr;  ///< null: no link
        /// The gateway's, if there is one and it was found last time; else `neighbour` says what to look up.
        const link::Destination* to = nullptr;
    };
    Adjacency adjacency(typename Fib::Index hop) {
        const auto& next = fib_.next_hop(hop);
        if (!forward::leads_out(next.kind)) return {hop};
        auto& out = context_.port(next.interface);
        if (next.kind != forward::NextHopKind::via) return {hop, &out};
        return {hop, &out, neighbours_.hinted({{next.interface, next.gateway}, &hints_[hop]})};
    }

    /// Adds a packet of at most the port's MTU to those that `flush` sends. When they are as many as one burst holds,
    /// they are sent first. Inline, as every packet comes here, and the call would cost a quarter of what it does.
    [[gnu::always_inline]] void append(ShardPort& out, rte_mbuf* packet, Neighbour to, Time now) {
        append(burst_, out, packet, to, now);
    }
    [[gnu::always_inline]] void append(ShardPort& out, rte_mbuf* packet, const link::Destination& to, Time now) {
        place(burst_, out, packet, &to, now);
    }
    /// As `append`, of a packet of any size: it is segmented or fragmented to the port's MTU.
    void gather(ShardPort& out, rte_mbuf* packet, Neighbour to, Time now) { gather(burst_, out, packet, to, now); }
    /// Sends what was gathered, in the order in which it came.
    void flush(Time now) { send(burst_, now); }
    /// Sends those whose destination is not null, before what was gathered. Each fits its port's MTU.
    void send_by_port(std::span<rte_mbuf* const> packets, std::span<ShardPort* const> ports,
                      std::span<const link::Destination* const> to);
    /// Sends a packet of any size before what was gathered.
    void send_now(ShardPort& out, rte_mbuf* packet, Neighbour to, Time now);

    /// Sends a packet of any size to a destination before what was gathered, fragmented if it must be.
    void send_to(ShardPort& out, rte_mbuf* packet, const link::Destination& to);

    /// Transmits what waited for the neighbour.
    void set_neighbour(ShardPort& port, const Address& address, const link::Destination& to);

    /// A packet that is larger than its neighbour takes, and may not be fragmented: known only when it was to be sent,
    /// on ports whose neighbours differ.
    struct TooLarge {
        rte_mbuf* packet;
        std::uint32_t mtu;
    };
    /// Those since the last call; they are the caller's.
    template <class Use>
    void take_too_large(Use use) {
        for (std::size_t i = 0; i < too_large_.size(); ++i) use(too_large_[i]);  // what it sends may not fit either
        too_large_.clear();
    }

    /// The table, for changes of neighbours without a destination.
    Neighbours& neighbours() { return neighbours_; }

private:
    /// Packets of a burst, each with its port and the neighbour for which it is meant: a destination that is known
    /// already, or null and what is to be looked up.
    struct Outgoing {
        std::array<rte_mbuf*, pmd::max_burst> packets;
        std::array<ShardPort*, pmd::max_burst> ports;
        std::array<const link::Destination*, pmd::max_burst> to;
        std::array<Neighbour, pmd::max_burst> neighbours;
        std::size_t size = 0;
        bool plain = true;  ///< all on one port, to destinations that are known
    };

    /// Returns where in the burst the packet is.
    [[gnu::always_inline]] std::size_t place(Outgoing& outgoing, ShardPort& out, rte_mbuf* packet,
                                             const link::Destination* known, Time now) {
        if (outgoing.size == outgoing.packets.size()) [[unlikely]]
            send(outgoing, now);
        const auto at = outgoing.size++;
        outgoing.packets[at] = packet;
        outgoing.ports[at] = &out;
        outgoing.to[at] = known;
        outgoing.plain &= known != nullptr && &out == outgoing.ports.front();
        return at;
    }
    [[gnu::always_inline]] void append(Outgoing& outgoing, ShardPort& out, rte_mbuf* packet, Neighbour to, Time now) {
        const auto* const known = neighbours_.hinted(to);
        const auto at = place(outgoing, out, packet, known, now);
        if (known != nullptr) return;
        neighbours_.prefetch(to.key);
        outgoing.neighbours[at] = to;
    }
    void gather(Outgoing& outgoing, ShardPort& out, rte_mbuf* packet, Neighbour to, Time now);
    using Fragments = std::array<rte_mbuf*, forward::max_fragments>;
    std::span<rte_mbuf*> cut(rte_mbuf* packet, std::uint32_t mtu, Fragments& out);
    void fragment(Outgoing& outgoing, ShardPort& out, rte_mbuf* packet, Neighbour to, Time now);
    void send(Outgoing& outgoing, Time now);
    bool fits(ShardPort& out, rte_mbuf*& packet, const link::Destination& to);
    std::size_t drop_too_large(Outgoing& outgoing, std::size_t n);
    bool look_up_neighbours(Outgoing& outgoing, std::size_t n);
    void await_neighbours(const Outgoing& outgoing, std::size_t n, Time now);

    RouterContext& context_;
    const Fib& fib_;
    Neighbours neighbours_;
    std::vector<typename Neighbours::Number> hints_;  ///< of gateways in `neighbours_`, by the FIB's next-hop number
    Outgoing burst_;
    std::vector<TooLarge> too_large_;  ///< at most `most_too_large`
    static constexpr std::size_t most_too_large = 4 * pmd::max_burst;
};

extern template class Egress<Ipv4Family>;
extern template class Egress<Ipv6Family>;

}  // namespace verbline::router

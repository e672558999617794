// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The short way through the router, for the packets that a router mostly sees. It is offered each burst from a link,
/// and the general way (family_router.h) takes what is left:
///
///     burst ──> scan: ordinary packets in front ──> FIB ──> resolve: to known neighbours ──> TTL ──> link.transmit
///                        └─ from the first that is not ─────────────┴─ from the first that is not ──> general way
///
/// A burst from an Ethernet link is offered with the links' headers on (shard.h). If it leaves on Ethernet as well, the
/// new header is written over the old, and no mbuf changes; a burst to IPoIB loses its headers after the lookups.
///
/// A packet is ordinary if nothing but its route decides what happens to it: one buffer, no offload request, no
/// options, no padding, from host to host, intact, with hops to spend. So nothing here drops a packet or answers it,
/// and the loops are short, each over the whole burst. What it takes, it takes from the front, and sends before the
/// rest is routed: packets stay in their order. The packets sent and the counters are those of the general way.

#include <array>
#include <cstddef>
#include <cstdint>

#include "datapath/forward/fib.h"
#include "datapath/router/egress.h"
#include "datapath/router/family.h"
#include "datapath/router/router_context.h"

namespace verbline::router {

template <class Family>
class FastPath {
public:
    /// All must outlive it.
    FastPath(RouterContext& context, const forward::BasicFib<typename Family::Address>& fib, Egress<Family>& egress)
        : context_(context), fib_(fib), egress_(egress) {}
    FastPath(const FastPath&) = delete;
    FastPath& operator=(const FastPath&) = delete;

    /// Forwards as many as it can of those in front, and returns how many. It has looked at the rest, and changed none.
    /// The span is used as scratch space. Nothing is gathered in `egress`.
    std::size_t forward(const ShardPort& from, pmd::Burst packets) noexcept;
    /// The same of frames of an Ethernet link, that of `from`, with their headers on. Counts on the link what it
    /// forwards. Not inlined: among its caller's variables the loops' are not all kept in registers, which costs a
    /// tenth.
    [[gnu::noinline]] std::size_t forward_frames(const ShardPort& from, link::EthernetInterface& link,
                                                 pmd::Burst frames) noexcept;

private:
    using Address = typename Family::Address;
    using Index = typename forward::BasicFib<Address>::Index;

    template <std::size_t header>
    std::size_t find_ways(const ShardPort& from, const link::EthernetInterface* link, pmd::Burst packets);
    template <std::size_t header>
    std::size_t scan(const link::EthernetInterface* link, pmd::Burst packets);
    std::size_t resolve(std::size_t n);
    std::size_t look_up_neighbours(std::size_t n);
    std::uint64_t rewrite(pmd::Burst frames);
    std::uint64_t strip(pmd::Burst frames);
    void send(pmd::Burst packets);

    RouterContext& context_;
    const forward::BasicFib<Address>& fib_;
    Egress<Family>& egress_;

    // Of the burst, kept between bursts, as filling them with zeros would take longer than a packet.
    std::array<Address, pmd::max_burst> destinations_;
    std::array<Index, pmd::max_burst> hops_;
    std::array<ShardPort*, pmd::max_burst> ports_;
    std::array<const link::Destination*, pmd::max_burst> to_;
    std::uint32_t longest_ = 0;  ///< packet, bytes
    bool one_port_ = true;       ///< all of `ports_` are the first
};

extern template class FastPath<Ipv4Family>;
extern template class FastPath<Ipv6Family>;

}  // namespace verbline::router

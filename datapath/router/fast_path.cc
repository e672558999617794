// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/fast_path.h"

#include <algorithm>
#include <span>

#include <rte_mbuf.h>

namespace verbline::router {
namespace {

template <class Family>
bool is_ordinary(const rte_mbuf& packet) {
    if (packet.nb_segs != 1 || (packet.ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK) != 0) return false;
    if (!Family::is_plain(packet) || Family::hops_of(packet) <= 1) return false;
    if constexpr (Family::has_scopes) {
        return !wire::is_link_local(Family::source_of(packet)) && !wire::is_link_local(Family::destination_of(packet));
    }
    return true;
}

}  // namespace

template <class Family>
std::size_t FastPath<Family>::forward(const ShardPort& from, pmd::Burst packets) noexcept {
    // Where every packet is looked at for one more reason, the general way does so.
    if (from.reverse_path != forward::ReversePathFilter::off || context_.tunnels != 0) return 0;
    auto n = scan(packets);
    if (n == 0) return 0;
    fib_.lookup(std::span(destinations_).first(n), std::span(hops_).first(n));
    if (fib_.groups().any()) [[unlikely]]
        return 0;  // the flow decides as well
    n = resolve(n);
    if (n == 0) return 0;
    for (auto* packet : packets.first(n)) Family::spend_hop(*packet);
    send(packets.first(n));
    context_.counters.forwarded_packets.add(n);
    return n;
}

/// Returns how many packets in front are ordinary. TCP segments are among them only if they are not to be coalesced,
/// and their MSS not to be clamped.
template <class Family>
std::size_t FastPath<Family>::scan(pmd::Burst packets) {
    std::size_t n = 0, tcp = 0, before_tcp = 0;
    std::uint32_t longest = 0;
    for (; n < packets.size(); ++n) {
        const auto& packet = *packets[n];
        if (!is_ordinary<Family>(packet)) break;
        if (Family::is_tcp(packet) && tcp++ == 0) before_tcp = n;
        destinations_[n] = Family::destination_of(packet);
        longest = std::max(longest, packet.pkt_len);
    }
    longest_ = longest;
    const bool sole_segment = tcp == 1 && n == packets.size();
    return tcp == 0 || (sole_segment && !context_.clamps_mss) ? n : before_tcp;
}

/// Finds ports and neighbours of the first `n`; returns for how many in front both are known, and all fit the MTU.
template <class Family>
std::size_t FastPath<Family>::resolve(std::size_t n) {
    typename Egress<Family>::Adjacency adjacency;
    bool known = true;
    one_port_ = true;
    for (std::size_t i = 0; i < n; ++i) {
        if (i == 0 || hops_[i] != adjacency.hop) {
            adjacency = egress_.adjacency(hops_[i]);
            if (adjacency.out == nullptr || adjacency.out->mtu < longest_) [[unlikely]] {
                n = i;
                break;
            }
            known &= adjacency.to != nullptr;
            one_port_ &= i == 0 || adjacency.out == ports_[0];
        }
        ports_[i] = adjacency.out;
        to_[i] = adjacency.to;
    }
    return known ? n : look_up_neighbours(n);
}

/// Those that no gateway's adjacency has, for the first `n`; returns how many in front are known.
template <class Family>
std::size_t FastPath<Family>::look_up_neighbours(std::size_t n) {
    auto& neighbours = egress_.neighbours();
    const auto neighbour = [this](std::size_t i) { return egress_.neighbour(*ports_[i], hops_[i], destinations_[i]); };
    for (std::size_t i = 0; i < n; ++i) {
        if (to_[i] == nullptr) neighbours.prefetch(neighbour(i).key);
    }
    for (std::size_t i = 0; i < n; ++i) {
        if (to_[i] == nullptr) neighbours.prefetch_entry(neighbour(i).key);
    }
    for (std::size_t i = 0; i < n; ++i) {
        if (to_[i] == nullptr) to_[i] = neighbours.lookup_by_index(neighbour(i));
        if (to_[i] == nullptr) return i;
    }
    return n;
}

template <class Family>
void FastPath<Family>::send(pmd::Burst packets) {
    const auto to = link::Destinations(to_).first(packets.size());
    if (one_port_) return ports_[0]->link().transmit(packets, to);
    egress_.send_by_port(packets, std::span(ports_).first(packets.size()), to);
}

template class FastPath<Ipv4Family>;
template class FastPath<Ipv6Family>;

}  // namespace verbline::router

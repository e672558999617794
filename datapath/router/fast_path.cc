// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/fast_path.h"

#include <algorithm>
#include <cstring>
#include <span>

#include <rte_mbuf.h>

#include "datapath/wire/ethernet.h"

namespace verbline::router {
namespace {

using wire::Ethernet;

/// `at`: where the IP header begins.
template <class Family>
bool is_ordinary(const rte_mbuf& packet, std::size_t at) {
    if (packet.nb_segs != 1 || (packet.ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK) != 0) return false;
    if (!Family::is_plain(packet, at) || Family::hops_of(packet, at) <= 1) return false;
    if constexpr (Family::has_scopes) {
        return !wire::is_link_local(Family::source_of(packet, at)) &&
               !wire::is_link_local(Family::destination_of(packet, at));
    }
    return true;
}

/// Whether some packets of this protocol are the control thread's (Router::from_link_ipv6).
template <class Family>
bool may_be_control(wire::IpProtocol protocol) {
    return Family::has_scopes && protocol == wire::IpProtocol::icmpv6;
}

}  // namespace

template <class Family>
std::size_t FastPath<Family>::forward(const ShardPort& from, pmd::Burst packets) noexcept {
    const auto n = find_ways<0>(from, nullptr, packets);
    if (n == 0) return 0;
    const auto taken = packets.first(n);
    for (auto* packet : taken) Family::spend_hop(*packet);
    send(taken);
    context_.counters.forwarded_packets.add(n);
    return n;
}

template <class Family>
std::size_t FastPath<Family>::forward_frames(const ShardPort& from, link::EthernetInterface& link,
                                             pmd::Burst frames) noexcept {
    const auto n = find_ways<Ethernet::size>(from, &link, frames);
    if (n == 0) return 0;
    const auto taken = frames.first(n);
    auto* const out = one_port_ ? ports_[0]->ethernet() : nullptr;
    const bool stays_ethernet = out != nullptr && out->is_up();
    const auto bytes = stays_ethernet ? rewrite(taken) : strip(taken);
    link.count_received(n, bytes);
    if (stays_ethernet) {
        out->transmit_frames(taken, bytes);
    } else {
        send(taken);
    }
    context_.counters.forwarded_packets.add(n);
    return n;
}

/// Spends a hop, and replaces the link's header by that of the neighbour. Returns the bytes behind the headers.
template <class Family>
std::uint64_t FastPath<Family>::rewrite(pmd::Burst frames) {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        auto& frame = *frames[i];
        bytes += frame.pkt_len - Ethernet::size;
        Family::spend_hop(frame, Ethernet::size);
        std::memcpy(rte_pktmbuf_mtod(&frame, std::byte*), to_[i]->header.bytes.data(), Ethernet::size);
    }
    return bytes;
}

/// Spends a hop, and removes the link's header. Returns the bytes behind the headers.
template <class Family>
std::uint64_t FastPath<Family>::strip(pmd::Burst frames) {
    std::uint64_t bytes = 0;
    for (auto* frame : frames) {
        rte_pktmbuf_adj(frame, Ethernet::size);
        bytes += frame->pkt_len;
        Family::spend_hop(*frame);
    }
    return bytes;
}

/// Where the packets lead, behind `header` bytes of `link`'s, if there are any; returns how many in front can be sent
/// there.
template <class Family>
template <std::size_t header>
std::size_t FastPath<Family>::find_ways(const ShardPort& from, const link::EthernetInterface* link,
                                        pmd::Burst packets) {
    // Where every packet is looked at for one more reason, the general way does so.
    if (from.reverse_path != forward::ReversePathFilter::off || context_.tunnels != 0 || fib_.groups().any()) return 0;
    const auto n = scan<header>(link, packets);
    if (n == 0) return 0;
    fib_.lookup(std::span(destinations_).first(n), std::span(hops_).first(n));
    if (fib_.groups().any()) [[unlikely]]
        return 0;  // a group came meanwhile, and may have been found: there the flow decides as well
    return resolve(n);
}

/// Returns how many packets in front are ordinary. TCP segments are among them only if they are not to be coalesced,
/// and their MSS not to be clamped.
template <class Family>
template <std::size_t header>
std::size_t FastPath<Family>::scan([[maybe_unused]] const link::EthernetInterface* link, pmd::Burst packets) {
    std::size_t n = 0, tcp = 0, before_tcp = 0;
    std::uint32_t longest = 0;
    for (; n < packets.size(); ++n) {
        const auto& packet = *packets[n];
        if (!is_ordinary<Family>(packet, header)) break;
        const auto protocol = Family::protocol_of(packet, header);
        if constexpr (header != 0) {
            if (!link->is_own(packet) || link->type_of(packet) != Family::ether_type) break;
            if (may_be_control<Family>(protocol)) break;
        }
        if (protocol == wire::IpProtocol::tcp && tcp++ == 0) before_tcp = n;
        destinations_[n] = Family::destination_of(packet, header);
        longest = std::max(longest, packet.pkt_len);
    }
    longest_ = longest - header;
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
            if (adjacency.out == nullptr || adjacency.out->datagram_mtu < longest_) [[unlikely]] {
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

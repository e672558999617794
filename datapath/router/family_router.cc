// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/family_router.h"

#include <algorithm>
#include <utility>

#include <rte_mbuf.h>

#include "datapath/forward/mss.h"

namespace verbline::router {
namespace {

using forward::NextHopKind;

}  // namespace

template <class Family>
FamilyRouter<Family>::FamilyRouter(RouterContext& context, Fib& fib)
    : context_(context),
      fib_(fib),
      egress_(context, fib),
      fast_path_(context, fib, egress_),
      multicast_(context, fib) {}

template <class Family>
void FamilyRouter<Family>::from_link(ShardPort& from, pmd::Burst packets, Time now) noexcept {
    if (context_.deliver_all_to_kernel) {
        return context_.to_kernel(from, packets.first(context_.coalesce(packets, 0)));
    }
    packets = packets.subspan(fast_path_.forward(from, packets));
    if (packets.empty()) return;
    admit(from, packets);
    if (from.reverse_path != forward::ReversePathFilter::off) [[unlikely]]
        check_sources(from);
    look_up();
    route(now);
    if (lookup_.local > 0) to_kernel(from, now);
    flush(now);
}

/// By port `out`, which was chosen for them.
template <class Family>
void FamilyRouter<Family>::forward_to(ShardPort& from, ShardPort& out, pmd::Burst packets, Time now) noexcept {
    admit(from, packets);
    if (from.reverse_path != forward::ReversePathFilter::off) [[unlikely]]
        check_sources(from);
    look_up(&out);
    std::uint64_t forwarded = 0;
    for (std::size_t i = 0; i < lookup_.size; ++i) {
        auto* const packet = lookup_.packets[i];
        const auto destination = lookup_.destinations[i];
        if (Family::is_group(destination)) {
            context_.discard(packet, context_.counters.dropped_program_group);
            continue;
        }
        forwarded += pass_on({lookup_.hops[i], &out}, destination, packet, now) ? 1 : 0;
    }
    context_.counters.forwarded_packets.add(forwarded);
    flush(now);
}

/// What no route leads on: to the kernel, and of groups to other links.
template <class Family>
void FamilyRouter<Family>::to_kernel(ShardPort& from, Time now) {
    auto packets = pmd::Burst(lookup_.packets).first(lookup_.local);
    if (from.multicast) packets = packets.first(multicast_.from_link(*this, from, packets, now));
    if (!packets.empty()) context_.to_kernel(from, packets);
}

template <class Family>
void FamilyRouter<Family>::to_group(ShardPort& out, rte_mbuf* packet, const Address& group, Time now) {
    if (size_on_link(*packet) > out.datagram_mtu && !Family::may_fragment(*packet)) {
        return refuse(packet, context_.counters.dropped_mtu, Family::too_big(out.datagram_mtu), now);
    }
    egress_.gather(out, packet, {{out.id, group}}, now);
}

/// Begins a lookup with those of the burst that are in order.
template <class Family>
void FamilyRouter<Family>::admit(ShardPort& from, pmd::Burst packets) {
    std::size_t n = 0, tcp = 0;
    for (auto* packet : packets) {
        if (!Family::is_plain(*packet)) [[unlikely]] {
            if (const auto reason = Family::check(*packet)) {
                context_.discard(packet, discards_[*reason]);
                continue;
            }
        }
        packet->port = static_cast<std::uint16_t>(from.id);  // where an ICMP error about it would come from
        lookup_.packets[n++] = packet;
        tcp += Family::protocol_of(*packet) == wire::IpProtocol::tcp ? 1 : 0;
    }
    if (tcp > 1 || context_.tunnels != 0) {
        n = context_.coalesce(pmd::Burst(lookup_.packets).first(n), context_.tunnels);
    }
    lookup_.size = n;
    lookup_.local = 0;
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
            lookup_.packets[lookup_.size++] = packet;  // at most at `i`, which was read
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
    for (std::size_t i = 0; i < lookup_.size; ++i)
        lookup_.destinations[i] = Family::destination_of(*lookup_.packets[i]);
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

template <class Family>
void FamilyRouter<Family>::route(Time now) {
    if (lookup_.size == 0) return;
    std::uint64_t forwarded = 0;
    auto adjacency = egress_.adjacency(lookup_.hops[0]);
    for (std::size_t i = 0, n = lookup_.size; i < n; ++i) {
        const auto destination = lookup_.destinations[i];
        if (lookup_.hops[i] != adjacency.hop) adjacency = egress_.adjacency(lookup_.hops[i]);
        if (adjacency.out == nullptr || Family::is_group(destination)) [[unlikely]] {
            route_elsewhere(i, now);
        } else {
            forwarded += pass_on(adjacency, destination, lookup_.packets[i], now) ? 1 : 0;
        }
    }
    context_.counters.forwarded_packets.add(forwarded);
}

/// Number `i` of the burst, which no link is to carry.
template <class Family>
void FamilyRouter<Family>::route_elsewhere(std::size_t i, Time now) {
    auto* packet = lookup_.packets[i];
    const auto& destination = lookup_.destinations[i];
    const auto kind = fib_.next_hop(lookup_.hops[i]).kind;
    auto& counters = context_.counters;
    if (kind == NextHopKind::local || Family::is_group(destination)) {
        lookup_.packets[lookup_.local++] = packet;  // at most at `i`, which was read
        return;
    }
    if (leaves_scope(destination, packet, now)) return;
    if (kind == NextHopKind::blackhole) return context_.discard(packet, counters.dropped_no_route);
    refuse(packet, counters.dropped_no_route, Family::no_route(), now);
}

/// To the next hop's link. False: the packet was dropped.
template <class Family>
bool FamilyRouter<Family>::pass_on(const Adjacency& adjacency, const Address& destination, rte_mbuf* packet, Time now) {
    auto& counters = context_.counters;
    if (leaves_scope(destination, packet, now)) return false;
    if (Family::hops_of(*packet) <= 1) return refuse(packet, counters.dropped_ttl, Error::time_exceeded(), now), false;
    auto& out = *adjacency.out;
    // A packet that is to be segmented is larger than what it becomes.
    const bool fits = packet->pkt_len <= out.mtu || size_on_link(*packet) <= out.mtu;
    if (!fits && !Family::may_fragment(*packet)) {
        return refuse(packet, counters.dropped_mtu, Family::too_big(out.mtu), now), false;
    }
    if (context_.clamps_mss) [[unlikely]]
        clamp_mss(*context_.ports[packet->port], out, *packet);
    Family::spend_hop(*packet);
    if (fits && adjacency.to != nullptr) [[likely]] {
        egress_.append(out, packet, *adjacency.to, now);
    } else {
        const auto to = egress_.neighbour(out, adjacency.hop, destination);
        fits ? egress_.append(out, packet, to, now) : egress_.gather(out, packet, to, now);
    }
    return true;
}

/// The segments that a SYN allows come back through both of these ports.
template <class Family>
void FamilyRouter<Family>::clamp_mss(const ShardPort& from, const ShardPort& out, rte_mbuf& packet) {
    if (!out.clamp_mss && !from.clamp_mss) return;
    auto mtu = out.clamp_mss ? out.mtu : from.mtu;
    if (from.clamp_mss) mtu = std::min(mtu, from.mtu);
    if (forward::clamp_mss(packet, mtu)) context_.counters.mss_clamped_packets.add();
}

/// Whether it may not be routed for its addresses, and has been dropped. RFC 4291, 2.5.6; the source is notified if it
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
        lookup_.packets[lookup_.size++] = packet;
    }
    look_up(&out);
    for (std::size_t i = 0; i < lookup_.size; ++i) route_from_kernel(out, i, now);
    flush(now);
}

template <class Family>
void FamilyRouter<Family>::route_from_kernel(ShardPort& out, std::size_t i, Time now) {
    auto* const packet = lookup_.packets[i];
    const auto& destination = lookup_.destinations[i];
    const auto& hop = fib_.next_hop(lookup_.hops[i]);
    // A "local" destination from the kernel through this port can only be a broadcast: the kernel delivers its own
    // addresses itself.
    if ((Family::has_broadcast && hop.kind == NextHopKind::local) || Family::is_group(destination)) {
        return to_group_from_kernel(out, packet, destination, now);
    }
    egress_.gather(out, packet, egress_.neighbour(out, lookup_.hops[i], destination), now);
}

/// Or a broadcast.
template <class Family>
void FamilyRouter<Family>::to_group_from_kernel(ShardPort& out, rte_mbuf* packet, const Address& group, Time now) {
    if (wire::is_multicast(group)) {
        multicast_.from_kernel(out, *packet);
        if (out.resolves_groups) return egress_.gather(out, packet, {{out.id, group}}, now);
    }
    link::Destination scratch;
    const auto* const to = Family::group(out, group, scratch);
    if (to == nullptr) return context_.discard(packet, context_.counters.dropped_broadcast);
    egress_.send_to(out, packet, *to);
}

/// Sends what was gathered; what is too large for its neighbour comes back.
template <class Family>
void FamilyRouter<Family>::flush(Time now) {
    egress_.flush(now);
    if (context_.connects) [[unlikely]]
        refuse_too_large(now);
}

template <class Family>
void FamilyRouter<Family>::refuse_too_large(Time now) {
    egress_.take_too_large(
        [&](const auto& each) { refuse(each.packet, context_.counters.dropped_mtu, Family::too_big(each.mtu), now); });
}

/// Where an ICMP error to this address goes, from a port.
template <class Family>
auto FamilyRouter<Family>::way_back(const Address& address, const ShardPort& from, rte_mbuf& packet) const -> NextHop {
    if constexpr (Family::has_scopes) {
        if (wire::is_link_local(address)) return {NextHopKind::on_link, from.id};
    }
    typename Fib::Index number{};
    fib_.lookup({&address, 1}, {&number, 1});
    if (fib_.groups().holds(number)) number = fib_.groups().member(number, context_.flow_hash(packet));
    return fib_.next_hop(number);
}

/// Drops the packet and sends an ICMP error to its source, from the address of the port on which it arrived. The source
/// may be this host, whose kernel takes no packets from its own addresses (RFC 1812, 5.3.7): there the error is from
/// where the packet was to go.
template <class Family>
void FamilyRouter<Family>::refuse(rte_mbuf* packet, Counter& why, const Error& error, Time now) {
    auto& from = *context_.ports[packet->port];
    auto& counters = context_.counters;
    const auto destination = Family::source_of(*packet);
    const auto hop = way_back(destination, from, *packet);
    const bool ours = hop.kind == NextHopKind::local;
    const auto wanted = Family::destination_of(*packet);
    const bool in_its_name = ours && !Family::is_group(wanted);
    const auto source = in_its_name ? wanted : Family::error_source(context_.ports, from, *packet);
    auto* message = source != Address{} && context_.icmp_limit.take(now)
                        ? Family::make_error(*packet, error, source, context_.pool)
                        : nullptr;
    context_.discard(packet, why);
    if (message == nullptr) return counters.icmp_errors_withheld.add();
    message->port = static_cast<std::uint16_t>(from.id);  // it may be undeliverable in its turn
    counters.icmp_errors_sent.add();
    if (ours) return context_.to_kernel(from, {&message, 1});
    if (hop.kind != NextHopKind::on_link && hop.kind != NextHopKind::via) {
        return context_.discard(message, counters.dropped_no_route);
    }
    const auto& next_hop = hop.kind == NextHopKind::via ? hop.gateway : destination;
    egress_.send_now(context_.port(hop.interface), message, {{hop.interface, next_hop}}, now);
}

template <class Family>
void FamilyRouter<Family>::set_neighbour(ShardPort& port, const Address& address, const link::Destination& to,
                                         Time now) noexcept {
    egress_.set_neighbour(port, address, to);
    refuse_too_large(now);
}

template <class Family>
void FamilyRouter<Family>::forget_neighbour(ShardPort& port, const Address& address) noexcept {
    egress_.neighbours().remove({port.id, address});
}

template <class Family>
void FamilyRouter<Family>::fail_neighbour(ShardPort& port, const Address& address, Time now) noexcept {
    auto waited = egress_.neighbours().fail({port.id, address});
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
    egress_.neighbours().expire(now, [&](const NeighbourKey&, auto waited) { undeliverable(waited.span(), now); });
}

template class FamilyRouter<Ipv4Family>;
template class FamilyRouter<Ipv6Family>;

}  // namespace verbline::router

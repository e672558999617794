// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/router.h"

#include <algorithm>
#include <array>

#include <rte_mbuf.h>

#include "datapath/forward/ipv6.h"
#include "datapath/link/ip_gid.h"
#include "datapath/offload/packet.h"
#include "datapath/wire/ethernet.h"

namespace verbline::router {
namespace {

/// The IP version of a packet that has its whole header; else 0.
unsigned version_of(const rte_mbuf& packet) {
    const auto bytes = offload::first_segment(packet);
    const unsigned version = bytes.empty() ? 0 : wire::load8(bytes, 0) >> 4;
    const std::size_t header = version == 4 ? wire::Ipv4::size : wire::Ipv6::size;
    return bytes.size() < header ? 0 : version;
}

/// The kinds of tunnels whose packets some link's device cuts.
std::uint64_t tunnels_of(const Ports& ports) {
    std::uint64_t tunnels = 0;
    for (const auto& port : ports) tunnels |= port->link().tunnel_offloads();
    return tunnels;
}

bool clamps_mss(const Ports& ports) {
    return std::ranges::any_of(ports, [](const auto& port) { return port->clamp_mss; });
}

}  // namespace

Router::Router(Ports& ports, const Fibs& fibs, rte_mempool& pool, EventSink& events, bool deliver_all_to_kernel,
               const TokenBucket& icmp_limit, const pmd::FlowHash* flows, std::uint32_t max_neighbours)
    : context_{.ports = ports,
               .pool = pool,
               .events = events,
               .deliver_all_to_kernel = deliver_all_to_kernel,
               .clamps_mss = clamps_mss(ports),
               .connects = std::ranges::any_of(ports, [](const auto& port) { return port->connections != nullptr; }),
               .tunnels = tunnels_of(ports),
               .icmp_limit = icmp_limit,
               .flows = flows,
               .max_neighbours = max_neighbours},
      ipv4_(context_, *fibs.ipv4) {
    if (fibs.ipv6 != nullptr) ipv6_.emplace(context_, *fibs.ipv6);
}

void Router::set_checks(ShardPort& port, bool clamp_mss, forward::ReversePathFilter reverse_path) noexcept {
    port.clamp_mss = clamp_mss;
    port.reverse_path = reverse_path;
    context_.clamps_mss = clamps_mss(context_.ports);
}

std::size_t Router::forward_frames(const ShardPort& from, link::EthernetInterface& link, pmd::Burst frames) noexcept {
    if (frames.empty() || context_.deliver_all_to_kernel) return 0;
    const auto type = link::EthernetInterface::type_of(*frames.front());
    if (type == wire::ether_type::ipv4) return ipv4_.forward_frames(from, link, frames);
    return type == wire::ether_type::ipv6 && ipv6_ ? ipv6_->forward_frames(from, link, frames) : 0;
}

void Router::from_link_ipv6(ShardPort& from, pmd::Burst packets, Time now) noexcept {
    std::size_t kept = 0;
    for (auto* packet : packets) {
        if (!ipv6_) {
            context_.discard(packet, context_.counters.dropped_not_carried);
        } else if (!forward::is_neighbour_discovery(*packet, from.advertises)) {
            packets[kept++] = packet;
        } else if (!context_.events.emit(Punted{from.id, wire::ether_type::ipv6, packet})) {
            rte_pktmbuf_free(packet);
        }
    }
    if (kept > 0) ipv6_->from_link(from, packets.first(kept), now);
}

/// Port by port and family by family, so that each is one burst.
void Router::forward_to_ports(ShardPort& from, const program::Forwarded& packets, Time now) noexcept {
    for (auto& out : context_.ports) {
        for (const auto family : {program::Family::ipv4, program::Family::ipv6}) {
            std::array<rte_mbuf*, pmd::max_burst> its_packets;
            std::size_t size = 0;
            for (std::size_t i = 0; i < packets.size; ++i) {
                const bool its = packets.ports[i] == static_cast<std::uint16_t>(out->id);
                if (its && packets.families[i] == family) its_packets[size++] = packets.packets[i];
            }
            if (size > 0) forward_to(from, *out, family, pmd::Burst(its_packets).first(size), now);
        }
    }
}

void Router::forward_to(ShardPort& from, ShardPort& out, program::Family family, pmd::Burst burst, Time now) {
    if (family == program::Family::ipv4) {
        ipv4_.forward_to(from, out, burst, now);
    } else if (ipv6_) {
        ipv6_->forward_to(from, out, burst, now);
    } else {
        for (auto* packet : burst) context_.discard(packet, context_.counters.dropped_not_carried);
    }
}

void Router::from_kernel(ShardPort& out, pmd::Burst packets, Time now) noexcept {
    context_.counters.from_kernel_packets.add(packets.size());
    std::array<rte_mbuf*, pmd::max_burst> ipv6;
    std::size_t ipv4_count = 0, ipv6_count = 0;
    for (auto* packet : packets) {
        const auto version = version_of(*packet);
        if (version == 4) {
            packets[ipv4_count++] = packet;
        } else if (version == 6 && ipv6_) {
            ipv6[ipv6_count++] = packet;
        } else {
            context_.discard(packet, context_.counters.dropped_not_carried);
        }
    }
    if (ipv4_count > 0) ipv4_.from_kernel(out, packets.first(ipv4_count), now);
    if (ipv6_count > 0) ipv6_->from_kernel(out, pmd::Burst(ipv6).first(ipv6_count), now);
}

template <class Use>
void Router::with_family(const wire::Gid& address, Use use) {
    if (const auto ipv4 = link::ipv4_of(address)) {
        use(ipv4_, *ipv4);
    } else if (ipv6_) {
        use(*ipv6_, link::ipv6_of(address));
    }
}

void Router::set_neighbour(ShardPort& port, const wire::Gid& address, const link::Destination& to, Time now) noexcept {
    with_family(address, [&](auto& router, const auto& ip) { router.set_neighbour(port, ip, to, now); });
}

void Router::forget_neighbour(ShardPort& port, const wire::Gid& address) noexcept {
    with_family(address, [&](auto& router, const auto& ip) { router.forget_neighbour(port, ip); });
}

void Router::fail_neighbour(ShardPort& port, const wire::Gid& address, Time now) noexcept {
    with_family(address, [&](auto& router, const auto& ip) { router.fail_neighbour(port, ip, now); });
}

void Router::set_group_route(const wire::Gid& group, const MulticastRoute& route) noexcept {
    with_family(group, [&](auto& router, const auto& ip) { router.set_group_route(ip, route); });
}

void Router::expire(Time now) noexcept {
    ipv4_.expire(now);
    if (ipv6_) ipv6_->expire(now);
}

std::uint64_t Router::neighbours_refused() const {
    const auto& refused = context_.neighbour_counters;
    return refused.neighbours_refused.value() + refused.dropped_neighbours_full.value();
}

void Router::counters(const CounterVisitor& visit) const {
    context_.counters.each(visit);
    context_.neighbour_counters.each(visit);
    ipv4_.counters(visit);
    if (ipv6_) ipv6_->counters(visit);
    CounterSums multicast;
    ipv4_.multicast_counters().each(multicast.add());
    if (ipv6_) ipv6_->multicast_counters().each(multicast.add());
    multicast.each(visit);
}

}  // namespace verbline::router

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/offload/tunnel.h"

#include "datapath/wire/ethernet.h"
#include "datapath/wire/geneve.h"
#include "datapath/wire/gre.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/udp.h"
#include "datapath/wire/vxlan.h"

namespace verbline::offload {

using wire::Ethernet, wire::EtherType, wire::Geneve, wire::Gre, wire::IpProtocol, wire::Ipv4, wire::Ipv6, wire::Udp;
using wire::Vxlan;

namespace {

struct Outer {
    IpProtocol protocol;
    std::size_t size;
};

std::optional<Outer> outer_of(wire::Bytes packet) {
    if (packet.empty()) return std::nullopt;
    if (wire::load8(packet, 0) >> 4 == 6) {
        const auto ip = wire::View<Ipv6>::over(packet);
        if (!ip) return std::nullopt;
        return Outer{ip->get<&Ipv6::next_header>(), Ipv6::size};
    }
    const auto ip = wire::View<Ipv4>::over(packet);
    if (!ip || Ipv4::Layout::refusal(ip->bytes())) return std::nullopt;
    const std::size_t size = std::size_t{ip->get<&Ipv4::header_words>()} * 4;
    const bool fragment = ip->get<&Ipv4::more_fragments>() || ip->get<&Ipv4::fragment_offset>() != 0;
    if (size < Ipv4::size || fragment) return std::nullopt;
    return Outer{ip->get<&Ipv4::protocol>(), size};
}

/// The tunnel, if an IP packet of either version begins at `tunnel.inner_at`.
std::optional<Tunnel> with_ip(Tunnel tunnel, wire::Bytes packet) {
    if (packet.size() <= tunnel.inner_at) return std::nullopt;
    const auto version = wire::load8(packet, tunnel.inner_at) >> 4;
    return version == 4 || version == 6 ? std::optional(tunnel) : std::nullopt;
}

/// As `with_ip`, of what begins at `tunnel.inner_at` and is of type `type`.
std::optional<Tunnel> with(EtherType type, Tunnel tunnel, wire::Bytes packet) {
    if (type == wire::bridged_ethernet) {
        if (packet.size() < tunnel.inner_at + Ethernet::size) return std::nullopt;
        type = wire::View<Ethernet>::over(packet.subspan(tunnel.inner_at))->get<&Ethernet::type>();
        tunnel.inner_at += Ethernet::size;
    }
    if (type != wire::ether_type::ipv4 && type != wire::ether_type::ipv6) return std::nullopt;
    return with_ip(tunnel, packet);
}

std::optional<Tunnel> over_gre(Tunnel tunnel, wire::Bytes packet) {
    const auto gre = Gre::parse(packet.subspan(tunnel.inner_at));
    if (!gre) return std::nullopt;
    tunnel.kind = TunnelKind::gre;
    tunnel.inner_at += gre->header_size();
    tunnel.numbered = gre->has_sequence;
    tunnel.summed = gre->has_checksum;
    return with(gre->protocol, tunnel, packet);
}

std::optional<Tunnel> over_udp(Tunnel tunnel, wire::Bytes packet) {
    const auto udp = wire::View<Udp>::over(packet.subspan(tunnel.inner_at));
    if (!udp) return std::nullopt;
    tunnel.inner_at += Udp::size;
    const auto payload = packet.subspan(tunnel.inner_at);
    if (udp->get<&Udp::destination_port>() == wire::vxlan_port) {
        if (!Vxlan::parse(payload)) return std::nullopt;
        tunnel.kind = TunnelKind::vxlan;
        tunnel.inner_at += Vxlan::size;
        return with(wire::bridged_ethernet, tunnel, packet);
    }
    if (udp->get<&Udp::destination_port>() != wire::geneve_port) return std::nullopt;
    const auto geneve = Geneve::parse(payload);
    if (!geneve || geneve->control) return std::nullopt;
    tunnel.kind = TunnelKind::geneve;
    tunnel.inner_at += geneve->header_size();
    return with(geneve->protocol, tunnel, packet);
}

}  // namespace

std::optional<Tunnel> tunnel_of(wire::Bytes packet) {
    const auto outer = outer_of(packet);
    if (!outer || packet.size() < outer->size) return std::nullopt;
    const Tunnel tunnel{.kind = TunnelKind::ip_in_ip, .outer_size = outer->size, .inner_at = outer->size};
    switch (outer->protocol) {
        case IpProtocol::ipv4:
        case IpProtocol::ipv6: return with_ip(tunnel, packet);
        case IpProtocol::gre: return over_gre(tunnel, packet);
        case IpProtocol::udp: return over_udp(tunnel, packet);
        default: return std::nullopt;
    }
}

}  // namespace verbline::offload

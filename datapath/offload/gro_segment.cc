// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/offload/gro_segment.h"

#include <cstring>
#include <optional>
#include <utility>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "datapath/offload/checksum.h"
#include "datapath/offload/packet.h"
#include "datapath/offload/tunnel.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/tcp.h"
#include "datapath/wire/udp.h"
#include "pmd/rx_checksum.h"

namespace verbline::offload {

using wire::Bytes;
using wire::Ipv4;
using wire::Ipv6;
using wire::Tcp;
using wire::Udp;

namespace {

constexpr std::uint64_t unfinished =
    RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TUNNEL_MASK;

/// What is known of the kinds of tunnels: the device offload that cuts their packets, and the flag that names them.
struct TunnelOffload {
    std::uint64_t offload, flag;
};
TunnelOffload offload_of(TunnelKind kind) {
    switch (kind) {
        case TunnelKind::ip_in_ip: return {RTE_ETH_TX_OFFLOAD_IPIP_TNL_TSO, RTE_MBUF_F_TX_TUNNEL_IPIP};
        case TunnelKind::gre: return {RTE_ETH_TX_OFFLOAD_GRE_TNL_TSO, RTE_MBUF_F_TX_TUNNEL_GRE};
        case TunnelKind::vxlan: return {RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO, RTE_MBUF_F_TX_TUNNEL_VXLAN};
        case TunnelKind::geneve: return {RTE_ETH_TX_OFFLOAD_GENEVE_TNL_TSO, RTE_MBUF_F_TX_TUNNEL_GENEVE};
    }
    std::unreachable();
}

/// What the packet's IP header says is behind it; none if there is no whole header.
std::optional<wire::IpProtocol> protocol_of(Bytes bytes) {
    const auto version = bytes.empty() ? 0 : wire::load8(bytes, 0) >> 4;
    if (version == 4 && bytes.size() >= Ipv4::size) return wire::View<Ipv4>::over(bytes)->get<&Ipv4::protocol>();
    if (version == 6 && bytes.size() >= Ipv6::size) return wire::View<Ipv6>::over(bytes)->get<&Ipv6::next_header>();
    return std::nullopt;
}

/// The version of a packet with a whole header.
bool is_ipv6(Bytes packet) {
    return wire::load8(packet, 0) >> 4 == 6;
}

bool is_tcp(const rte_mbuf& packet) {
    return protocol_of(first_segment(packet)) == wire::IpProtocol::tcp;
}

bool has_options(Bytes ip) {
    return wire::View<Ipv4>::over(ip)->get<&Ipv4::header_words>() != Ipv4::size / 4;
}

bool is_fragment(const wire::View<Ipv4>& ip) {
    return ip.get<&Ipv4::more_fragments>() || ip.get<&Ipv4::fragment_offset>() != 0;
}

/// Of IPv6: a header behind which TCP may be, of any flow with these addresses.
bool is_extension(wire::IpProtocol protocol) {
    using enum wire::IpProtocol;
    return protocol == hop_by_hop || protocol == routing || protocol == fragment || protocol == destination_options;
}

bool may_be_tunnel(const rte_mbuf& packet) {
    const auto protocol = protocol_of(first_segment(packet));
    return protocol && (*protocol == wire::IpProtocol::ipv4 || *protocol == wire::IpProtocol::ipv6 ||
                        *protocol == wire::IpProtocol::gre || *protocol == wire::IpProtocol::udp);
}

/// Of a packet, by its IP header, of which there is a whole one.
std::uint32_t stated_length(Bytes ip) {
    if (!is_ipv6(ip)) return wire::View<Ipv4>::over(ip)->get<&Ipv4::total_length>();
    return std::uint32_t{Ipv6::size} + wire::View<Ipv6>::over(ip)->get<&Ipv6::payload_length>();
}

/// Takes what the IP header in front of TCP says into `segment`. Returns the length that it states of the packet, from
/// itself on; none if what is behind it is not a TCP header, or a part of a packet.
std::optional<std::uint32_t> read_ip(Bytes bytes, Segment& segment) {
    constexpr std::size_t ipv4_addresses = 12, ipv6_addresses = 8;
    segment.flow.ipv6 = is_ipv6(bytes);
    if (segment.flow.ipv6) {
        std::memcpy(segment.flow.addresses.data(), bytes.data() + ipv6_addresses, 32);
        return stated_length(bytes);
    }
    const auto ip = *wire::View<Ipv4>::over(bytes);
    if (has_options(bytes) || is_fragment(ip)) return std::nullopt;
    std::memcpy(segment.flow.addresses.data(), bytes.data() + ipv4_addresses, 8);
    segment.identification = ip.get<&Ipv4::identification>();
    return stated_length(bytes);
}

/// A multicast or broadcast packet; broadcasts of a network are not known here, and none of those is of one flow with
/// what goes to a host.
bool is_to_group(Bytes bytes) {
    if (is_ipv6(bytes)) return wire::is_multicast(wire::View<Ipv6>::over(bytes)->get<&Ipv6::destination>());
    const auto destination = wire::View<Ipv4>::over(bytes)->get<&Ipv4::destination>();
    return wire::is_multicast(destination) || destination == wire::Ipv4Address{0xffff'ffff};
}

/// Programs of DHCP read whole frames, and expect one message in each.
bool is_dhcp(std::uint16_t port) {
    return port == 67 || port == 68 || port == 546 || port == 547;
}

/// Of a packet that begins at its IP header, with TCP behind the one at `segment.ip_at`.
Segment classify_tcp(const rte_mbuf& packet, Segment segment) {
    const auto bytes = first_segment(packet).subspan(segment.ip_at);
    const auto length = read_ip(bytes, segment);
    const auto tcp_at = segment.flow.ip_size();
    const auto tcp = wire::View<Tcp>::over(bytes.subspan(tcp_at));
    if (!length || !tcp) return {.role = Role::unclear};

    segment.role = Role::alone;
    std::memcpy(&segment.flow.ports, bytes.data() + tcp_at, sizeof segment.flow.ports);
    const std::uint32_t headers_size = segment.ip_at + tcp_at + tcp->get<&Tcp::header_words>() * 4u;
    const auto flags = tcp->get<&Tcp::flags>();
    const bool whole = *length + segment.ip_at == packet.pkt_len;
    const bool data = headers_size >= segment.ip_at + tcp_at + Tcp::size && headers_size < packet.data_len;
    const bool plain = (flags | wire::tcp_flag::psh) == (wire::tcp_flag::psh | wire::tcp_flag::ack);
    if (!whole || !data || !plain || (packet.ol_flags & unfinished) != 0) return segment;

    segment.role = Role::mergeable;
    segment.headers_size = static_cast<std::uint16_t>(headers_size);
    segment.payload_size = static_cast<std::uint16_t>(packet.pkt_len - headers_size);
    segment.sequence = tcp->get<&Tcp::sequence>();
    segment.push = (flags & wire::tcp_flag::psh) != 0;
    return segment;
}

/// Whether a tunnel's own IP header, with nothing behind it but what it states, can be made anew for each segment.
bool is_plain_outer(const rte_mbuf& packet, const Tunnel& tunnel) {
    const auto bytes = first_segment(packet);
    if (stated_length(bytes) != packet.pkt_len || (!is_ipv6(bytes) && has_options(bytes))) return false;
    if (!tunnel.over_udp()) return true;
    const auto udp = wire::View<Udp>::over(bytes.subspan(tunnel.outer_size));
    return udp->get<&Udp::length>() + tunnel.outer_size == packet.pkt_len;
}

/// A fragment of a tunnel's packet may be of any flow inside.
Segment classify_tunnel(const rte_mbuf& packet, std::uint64_t tunnels) {
    constexpr std::size_t longest = 127;  // the mbuf's field has 7 bits
    const auto bytes = first_segment(packet);
    if (!may_be_tunnel(packet)) return {};
    if (!is_ipv6(bytes) && is_fragment(*wire::View<Ipv4>::over(bytes))) return {.role = Role::unclear};
    const auto tunnel = tunnel_of(bytes);
    if (!tunnel || (offload_of(tunnel->kind).offload & tunnels) == 0) return {};
    if (protocol_of(bytes.subspan(tunnel->inner_at)) != wire::IpProtocol::tcp) return {};
    Segment segment{.ip_at = static_cast<std::uint16_t>(tunnel->inner_at),
                    .outer_size = static_cast<std::uint16_t>(tunnel->outer_size),
                    .outer_udp = tunnel->over_udp(),
                    .tunnel_flag = offload_of(tunnel->kind).flag};
    if (!is_ipv6(bytes)) segment.outer_identification = wire::View<Ipv4>::over(bytes)->get<&Ipv4::identification>();
    segment = classify_tcp(packet, segment);
    const bool fits = tunnel->inner_at - tunnel->outer_size <= longest && !tunnel->numbered && !tunnel->summed &&
                      is_plain_outer(packet, *tunnel);
    if (segment.role == Role::mergeable && !fits) segment.role = Role::alone;
    return segment;
}

/// An IPv6 header has no checksum.
bool ip_verifies(Bytes packet) {
    return is_ipv6(packet) || header_verifies(packet.first(Ipv4::size));
}

/// Of a tunnel's packet: what devices say is about some of its checksums only, so that all are summed.
bool intact_in_tunnel(const rte_mbuf& packet, std::uint32_t ip_at) {
    const auto headers = first_segment(packet);
    return ip_verifies(headers) && verify_l4(packet) != L4Verdict::bad && ip_verifies(headers.subspan(ip_at)) &&
           verify_l4(packet, ip_at) == L4Verdict::good;
}

}  // namespace

bool intact(const rte_mbuf& packet, std::uint32_t ip_at) {
    if (ip_at != 0) return intact_in_tunnel(packet, ip_at);
    const bool ip_good = pmd::ip_checksum_verified(packet) || ip_verifies(first_segment(packet));
    return ip_good && (pmd::l4_checksum_verified(packet) || verify_l4(packet) == L4Verdict::good);
}

bool may_be_datagram(const rte_mbuf& packet) {
    return protocol_of(first_segment(packet)) == wire::IpProtocol::udp;
}

Segment classify_datagram(const rte_mbuf& packet) {
    const auto bytes = first_segment(packet);
    const auto protocol = protocol_of(bytes);
    if (!protocol) return {};
    if (is_ipv6(bytes) && is_extension(*protocol)) return {.role = Role::unclear};
    if (*protocol != wire::IpProtocol::udp) return {};
    Segment segment;
    const auto length = read_ip(bytes, segment);
    const auto udp_at = segment.flow.ip_size();
    const auto udp = wire::View<Udp>::over(bytes.subspan(udp_at));
    if (!length || !udp) return {.role = Role::unclear};

    segment.role = Role::alone;
    std::memcpy(&segment.flow.ports, bytes.data() + udp_at, sizeof segment.flow.ports);
    const bool whole = *length == packet.pkt_len && udp->get<&Udp::length>() + std::uint32_t{udp_at} == packet.pkt_len;
    const bool plain = packet.nb_segs == 1 && udp->get<&Udp::checksum>() != 0 && (packet.ol_flags & unfinished) == 0;
    segment.headers_size = static_cast<std::uint16_t>(udp_at + Udp::size);
    if (!whole || !plain || packet.pkt_len == segment.headers_size || is_to_group(bytes) ||
        is_dhcp(udp->get<&Udp::destination_port>())) {
        return segment;
    }
    segment.role = Role::mergeable;
    segment.payload_size = static_cast<std::uint16_t>(packet.pkt_len - segment.headers_size);
    return segment;
}

void lengthen_ip(wire::MutableBytes header, std::uint32_t size) {
    if (is_ipv6(header)) {
        const auto payload = static_cast<std::uint16_t>(size - Ipv6::size);
        return wire::View<Ipv6, std::byte>::over(header)->set<&Ipv6::payload_length>(payload);
    }
    const auto ip = *wire::View<Ipv4, std::byte>::over(header);
    const auto before = ip.get<&Ipv4::total_length>();
    const auto length = static_cast<std::uint16_t>(size);
    ip.set<&Ipv4::total_length>(length);
    ip.set<&Ipv4::checksum>(wire::updated_checksum(ip.get<&Ipv4::checksum>(), before, length));
}

bool worth_a_look(const rte_mbuf& packet, std::uint64_t tunnels) {
    return is_tcp(packet) || (tunnels != 0 && may_be_tunnel(packet));
}

Segment classify(const rte_mbuf& packet, std::uint64_t tunnels) {
    const auto bytes = first_segment(packet);
    const auto protocol = protocol_of(bytes);
    if (!protocol) return {};
    if (*protocol == wire::IpProtocol::tcp) return classify_tcp(packet, {});
    if (is_ipv6(bytes) && is_extension(*protocol)) return {.role = Role::unclear};
    return tunnels != 0 ? classify_tunnel(packet, tunnels) : Segment{};
}

}  // namespace verbline::offload

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/flow_hash.h"

#include <algorithm>
#include <random>
#include <utility>

#include "datapath/link/part.h"
#include "datapath/offload/packet.h"
#include "datapath/offload/tunnel.h"
#include "datapath/wire/bth.h"
#include "datapath/wire/deth.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/grh.h"
#include "datapath/wire/ip.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/lrh.h"

namespace verbline::link {
namespace {

using wire::Bth, wire::Deth, wire::Ethernet, wire::Grh, wire::IpoibHeader, wire::IpProtocol, wire::Ipv4, wire::Ipv6;
using wire::Lrh, wire::Vlan;

constexpr std::size_t ports_size = 4;  // both, at the front of TCP's header and of UDP's

bool has_ports(IpProtocol protocol) {
    return protocol == IpProtocol::tcp || protocol == IpProtocol::udp;
}

/// The ports at the front of `payload`, if it holds them.
wire::Bytes ports_of(wire::Bytes payload) {
    return payload.size() < ports_size ? wire::Bytes() : payload.first(ports_size);
}

/// By the packet's own header.
Flow plain_flow_of_ipv4(wire::Bytes packet) {
    constexpr std::size_t addresses_at = 12, addresses_size = 8;
    if (packet.size() < Ipv4::size) return {};
    const auto ip = part_at<Ipv4>(packet);
    const std::size_t header = std::size_t{ip.get<&Ipv4::header_words>()} * 4;
    if (Ipv4::Layout::refusal(ip.bytes()) || header < Ipv4::size) return {};
    Flow flow{.addresses = packet.subspan(addresses_at, addresses_size)};
    const bool fragment = ip.get<&Ipv4::more_fragments>() || ip.get<&Ipv4::fragment_offset>() != 0;
    if (!fragment && has_ports(ip.get<&Ipv4::protocol>()) && packet.size() >= header) {
        flow.ports = ports_of(packet.subspan(header));
    }
    return flow;
}

Flow plain_flow_of_ipv6(wire::Bytes packet) {
    constexpr std::size_t addresses_at = 8, addresses_size = 32;
    if (packet.size() < Ipv6::size) return {};
    const auto ip = part_at<Ipv6>(packet);
    if (Ipv6::Layout::refusal(ip.bytes())) return {};
    Flow flow{.addresses = packet.subspan(addresses_at, addresses_size)};
    if (has_ports(ip.get<&Ipv6::next_header>())) flow.ports = ports_of(packet.subspan(Ipv6::size));
    return flow;
}

/// Of a packet that is a tunnel's without ports, the flow inside, if it can be told: between two tunnel ends, all flows
/// have the same outer headers. One whose packets are numbered is a single flow (RFC 2890, 2.2).
Flow flow_inside(wire::Bytes packet, const Flow& outer) {
    const auto tunnel = offload::tunnel_of(packet);
    if (!tunnel || tunnel->numbered) return outer;
    const auto inner = packet.subspan(tunnel->inner_at);
    const auto flow = wire::load8(inner, 0) >> 4 == 6 ? plain_flow_of_ipv6(inner) : plain_flow_of_ipv4(inner);
    return flow.addresses.empty() ? outer : flow;
}

bool carries_packets(IpProtocol protocol) {
    return protocol == IpProtocol::gre || protocol == IpProtocol::ipv4 || protocol == IpProtocol::ipv6;
}

Flow flow_of_ipv4(wire::Bytes packet) {
    auto flow = plain_flow_of_ipv4(packet);
    const bool ipv4 = !flow.addresses.empty();
    if (ipv4 && carries_packets(part_at<Ipv4>(packet).get<&Ipv4::protocol>())) [[unlikely]]
        flow = flow_inside(packet, flow);
    return flow;
}

Flow flow_of_ipv6(wire::Bytes packet) {
    auto flow = plain_flow_of_ipv6(packet);
    const bool ipv6 = !flow.addresses.empty();
    if (ipv6 && carries_packets(part_at<Ipv6>(packet).get<&Ipv6::next_header>())) [[unlikely]]
        flow = flow_inside(packet, flow);
    return flow;
}

Flow flow_of_ip(wire::EtherType type, wire::Bytes packet) {
    switch (type) {
        case wire::ether_type::ipv4: return flow_of_ipv4(packet);
        case wire::ether_type::ipv6: return flow_of_ipv6(packet);
        default: return {};
    }
}

/// Of a packet without a header that states the version.
Flow flow_of_either(wire::Bytes packet) {
    if (packet.empty()) return {};
    return wire::load8(packet, 0) >> 4 == 6 ? flow_of_ipv6(packet) : flow_of_ipv4(packet);
}

Flow flow_of_ipoib(wire::Bytes datagram) {
    if (datagram.size() < IpoibHeader::size) return {};
    const auto type = part_at<IpoibHeader>(datagram).get<&IpoibHeader::type>();
    return flow_of_ip(type, datagram.subspan(IpoibHeader::size));
}

/// Of a packet that begins with its BTH. IPoIB's are all of one opcode (RFC 4391, 6).
Flow flow_of_transport(wire::Bytes packet) {
    if (packet.size() < Bth::size + Deth::size) return {};
    if (part_at<Bth>(packet).get<&Bth::opcode>() != wire::ud_send_only) return {};
    return flow_of_ipoib(packet.subspan(Bth::size + Deth::size));
}

Flow flow_of_global(wire::Bytes packet) {
    if (packet.size() < Grh::size || part_at<Grh>(packet).get<&Grh::next_header>() != Grh::transport) return {};
    return flow_of_transport(packet.subspan(Grh::size));
}

Flow flow_of_soft_ib(wire::Bytes packet) {
    if (packet.size() < Lrh::size) return {};
    const auto behind = packet.subspan(Lrh::size);
    switch (part_at<Lrh>(packet).get<&Lrh::next>()) {
        case wire::NextHeader::bth: return flow_of_transport(behind);
        case wire::NextHeader::grh: return flow_of_global(behind);
        default: return {};
    }
}

Flow flow_of_frame(wire::Bytes frame) {
    if (frame.size() < Ethernet::size) return {};
    auto type = part_at<Ethernet>(frame).get<&Ethernet::type>();
    auto packet = frame.subspan(Ethernet::size);
    if (type == wire::ether_type::soft_ib) return flow_of_soft_ib(packet);
    if (type == wire::ether_type::vlan) {
        if (packet.size() < Vlan::size) return {};
        type = part_at<Vlan>(packet).get<&Vlan::type>();
        packet = packet.subspan(Vlan::size);
    }
    return type == wire::ether_type::roce_v1 ? flow_of_global(packet) : flow_of_ip(type, packet);
}

}  // namespace

Flow flow_of(pmd::Carries carries, wire::Bytes packet) noexcept {
    switch (carries) {
        case pmd::Carries::ethernet: return flow_of_frame(packet);
        case pmd::Carries::ip: return flow_of_either(packet);
        case pmd::Carries::datagram: return flow_of_ipoib(packet);
    }
    std::unreachable();
}

FrameFlowHash::Key FrameFlowHash::random_key() {
    std::random_device random;
    Key key;
    std::ranges::generate(key, [&] { return static_cast<std::uint8_t>(random()); });
    return key;
}

void FrameFlowHash::hash(pmd::Carries carries, std::span<rte_mbuf* const> packets,
                         std::span<std::uint32_t> hashes) const noexcept {
    static_assert(none == 0, "what an empty input hashes to");
    for (std::size_t i = 0; i < packets.size(); ++i) {
        const auto flow = flow_of(carries, offload::first_segment(std::as_const(*packets[i])));
        hashes[i] = toeplitz_(flow.addresses) ^ toeplitz_(flow.ports, flow.addresses.size());
    }
}

}  // namespace verbline::link

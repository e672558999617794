// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/traffic/frame_headers.h"

#include <algorithm>
#include <span>
#include <utility>

#include "datapath/link/ip_gid.h"
#include "datapath/wire/bth.h"
#include "datapath/wire/checksum.h"
#include "datapath/wire/deth.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/grh.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/tcp.h"
#include "datapath/wire/udp.h"

namespace verbline::traffic {
namespace {

/// `value` if the field is the same in all frames; else with zeros where it varies.
template <class Value>
Value fixed_part(const Values<Value>& values) {
    auto value = values.first;
    if (values.count <= 1) return value;
    if constexpr (wire::Address<Value>) {
        std::ranges::fill(std::span(value.bytes).template last<4>(), std::byte{0});
        return value;
    } else {
        return Value{};
    }
}

wire::IpProtocol protocol_of(Transport transport) {
    return transport == Transport::udp ? wire::IpProtocol::udp : wire::IpProtocol::tcp;
}

/// The sum of what is there, folded to 16 bits.
std::uint32_t sum_of(const wire::InternetChecksum& checksum) {
    return static_cast<std::uint16_t>(~checksum.value());
}

wire::EtherType ip_type(const FrameSpec& spec) {
    return spec.ipv6 ? wire::ether_type::ipv6 : wire::ether_type::ipv4;
}

void emit_link_header(const FrameSpec& spec, wire::MutableBytes out) {
    const auto type = spec.encapsulation == Encapsulation::roce_v1 ? wire::ether_type::roce_v1 : ip_type(spec);
    wire::Ethernet{.destination = fixed_part(spec.destination_mac),
                   .source = fixed_part(spec.source_mac),
                   .type = spec.vlan ? wire::ether_type::vlan : type}
        .emit(out.first<wire::Ethernet::size>());
    if (spec.vlan) {
        wire::Vlan{.id = fixed_part(*spec.vlan), .type = type}.emit(
            out.subspan<wire::Ethernet::size, wire::Vlan::size>());
    }
}

/// Writes the header and returns the sum of the pseudo-header of what is in it.
wire::InternetChecksum emit_ip_header(const FrameSpec& spec, wire::IpProtocol protocol, std::size_t payload,
                                      wire::MutableBytes out) {
    wire::InternetChecksum pseudo;
    if (spec.ipv6) {
        const wire::Ipv6 ip{.payload_length = static_cast<std::uint16_t>(payload),
                            .next_header = protocol,
                            .source = fixed_part(spec.source_ipv6),
                            .destination = fixed_part(spec.destination_ipv6)};
        ip.emit(out.first<wire::Ipv6::size>());
        pseudo.add_pseudo_header(ip.source, ip.destination, static_cast<std::uint8_t>(protocol), payload);
    } else {
        const wire::Ipv4 ip{.total_length = static_cast<std::uint16_t>(wire::Ipv4::size + payload),
                            .dont_fragment = true,
                            .protocol = protocol,
                            .source = fixed_part(spec.source_ipv4),
                            .destination = fixed_part(spec.destination_ipv4)};
        ip.emit(out.first<wire::Ipv4::size>());
        pseudo.add_pseudo_header(ip.source, ip.destination, static_cast<std::uint8_t>(protocol), payload);
    }
    return pseudo;
}

void emit_udp_header(std::uint16_t from, std::uint16_t to, std::size_t length, wire::MutableBytes out) {
    wire::Udp{.source_port = from, .destination_port = to, .length = static_cast<std::uint16_t>(length)}.emit(
        out.first<wire::Udp::size>());
}

void emit_l4_header(const FrameSpec& spec, std::size_t length, wire::MutableBytes out) {
    const auto from = fixed_part(spec.source_port), to = fixed_part(spec.destination_port);
    if (spec.transport == Transport::udp) return emit_udp_header(from, to, length, out);
    wire::Tcp{.source_port = from, .destination_port = to, .flags = wire::tcp_flag::ack, .window = UINT16_MAX}.emit(
        out.first<wire::Tcp::size>());
}

/// A Q_Key, and so who is meant, follows from the encapsulation.
void emit_datagram_headers(const FrameSpec& spec, wire::MutableBytes out) {
    wire::Bth{.opcode = wire::ud_send_only, .dest = fixed_part(spec.destination_qpn)}.emit(
        out.first<wire::Bth::size>());
    const bool ipoib = spec.encapsulation == Encapsulation::ipoib;
    wire::Deth{.qkey = ipoib ? ipoib_qkey : datagram_qkey, .source = datagram_source}.emit(
        out.subspan<wire::Bth::size, wire::Deth::size>());
}

void emit_grh(const FrameSpec& spec, std::size_t payload, wire::MutableBytes out) {
    const auto gid = [&](const auto& ipv4, const auto& ipv6) {
        return spec.ipv6 ? link::gid_of(fixed_part(ipv6)) : link::gid_of(fixed_part(ipv4));
    };
    wire::Grh{.payload_length = static_cast<std::uint16_t>(payload),
              .hop_limit = 64,
              .source = gid(spec.source_ipv4, spec.source_ipv6),
              .destination = gid(spec.destination_ipv4, spec.destination_ipv6)}
        .emit(out.first<wire::Grh::size>());
}

/// IP, UDP and BTH around an IPoIB packet that ends at `end`, and IPoIB's own header.
void emit_around_ipoib(const FrameSpec& spec, const FrameLayout& at, std::size_t end, wire::MutableBytes head) {
    const FrameSpec outside{.ipv6 = spec.ipv6};
    const auto udp = at.bth - wire::Udp::size;
    emit_ip_header(outside, wire::IpProtocol::udp, end - udp, head.subspan(at.network));
    if (!spec.ipv6) {
        const auto header = head.subspan(at.network).first<wire::Ipv4::size>();
        wire::View<wire::Ipv4, std::byte>::of(header).set<&wire::Ipv4::checksum>(
            wire::InternetChecksum().add(header).value());
    }
    emit_udp_header(outside.source_port.first, wire::roce_v2_port, end - udp, head.subspan(udp));
    emit_datagram_headers(spec, head.subspan(at.bth));
    wire::IpoibHeader{.type = ip_type(spec)}.emit(
        head.subspan(at.ip - wire::IpoibHeader::size).first<wire::IpoibHeader::size>());
}

/// The IP packet that ends at `end`.
HeaderSums emit_ip_packet(const FrameSpec& spec, const FrameLayout& at, std::size_t end, wire::MutableBytes head) {
    HeaderSums sums;
    auto l4 = emit_ip_header(spec, protocol_of(spec.transport), end - at.l4, head.subspan(at.ip));
    emit_l4_header(spec, end - at.l4, head.subspan(at.l4));
    if (!spec.ipv6) sums.ip = sum_of(wire::InternetChecksum().add(head.subspan(at.ip, at.l4 - at.ip)));
    sums.l4 = sum_of(l4.add(head.subspan(at.l4, at.stamp - at.l4)).add(Stamp::sum));
    return sums;
}

/// A datagram in UDP's: the IP header alone has a sum.
HeaderSums emit_roce_v2(const FrameSpec& spec, const FrameLayout& at, std::size_t end, wire::MutableBytes head) {
    emit_ip_header(spec, wire::IpProtocol::udp, end - at.l4, head.subspan(at.ip));
    emit_udp_header(fixed_part(spec.source_port), wire::roce_v2_port, end - at.l4, head.subspan(at.l4));
    emit_datagram_headers(spec, head.subspan(at.bth));
    return {.ip = spec.ipv6 ? 0 : sum_of(wire::InternetChecksum().add(head.subspan(at.ip, at.l4 - at.ip)))};
}

}  // namespace

HeaderSums emit_headers(const FrameSpec& spec, const FrameLayout& at, std::size_t length, wire::MutableBytes head) {
    const auto end = at.packet_end(length);
    emit_link_header(spec, head);
    switch (spec.encapsulation) {
        case Encapsulation::none: return emit_ip_packet(spec, at, end, head);
        case Encapsulation::roce_v2: return emit_roce_v2(spec, at, end, head);
        case Encapsulation::roce_v1:
            emit_grh(spec, end - at.bth, head.subspan(at.network));
            emit_datagram_headers(spec, head.subspan(at.bth));
            return {};
        case Encapsulation::ipoib:
            emit_around_ipoib(spec, at, end, head);
            return emit_ip_packet(spec, at, end - wire::icrc_size, head);
    }
    std::unreachable();
}

}  // namespace verbline::traffic

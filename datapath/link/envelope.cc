// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/envelope.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "datapath/link/header.h"
#include "datapath/link/ip_gid.h"
#include "datapath/link/part.h"
#include "datapath/wire/bth.h"
#include "datapath/wire/checksum.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/grh.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/udp.h"

namespace verbline::link {
namespace {

using wire::Ecn, wire::Ethernet, wire::Grh, wire::IcrcOver, wire::Ipv4, wire::Ipv6, wire::Udp, wire::Vlan;

template <class Part>
void append(Header& header, const Part& part) {
    part.emit(header.append(Part::size).template first<Part::size>());
}

void append_ethernet(Header& header, const SourceAddress& from, wire::MacAddress to, std::uint8_t sl) {
    const auto type = ether_type_of(from.carrier);
    append(header, Ethernet{.destination = to, .source = from.mac, .type = from.vlan ? wire::ether_type::vlan : type});
    if (from.vlan) append(header, Vlan{.priority = sl, .id = *from.vlan, .type = type});
}

void append_ipv4(Header& header, const SourceAddress& from, const wire::AddressHandle& to, Ecn ecn) {
    append(header, Ipv4{.dscp = static_cast<std::uint8_t>(to.traffic_class >> 2),
                        .ecn = ecn,
                        .total_length = 0,
                        .dont_fragment = true,
                        .time_to_live = to.hop_limit == 0 ? Ipv4{}.time_to_live : to.hop_limit,
                        .protocol = wire::IpProtocol::udp,
                        .source = wire::Ipv4Address{wire::load32(from.gid.bytes, ipv4_in_gid)},
                        .destination = wire::Ipv4Address{wire::load32(to.dgid.bytes, ipv4_in_gid)}});
}

void append_ipv6(Header& header, const SourceAddress& from, const wire::AddressHandle& to, Ecn ecn) {
    append(header, Ipv6{.dscp = static_cast<std::uint8_t>(to.traffic_class >> 2),
                        .ecn = ecn,
                        .flow_label = to.flow_label,
                        .next_header = wire::IpProtocol::udp,
                        .hop_limit = to.hop_limit == 0 ? Ipv6{}.hop_limit : to.hop_limit,
                        .source = {from.gid.bytes},
                        .destination = {to.dgid.bytes}});
}

void append_udp(Header& header, std::uint16_t source_port) {
    append(header, Udp{.source_port = source_port, .destination_port = wire::roce_v2_port, .length = 0});
}

void set_udp_length(wire::MutableBytes packet, std::size_t udp_at) {
    writable_part_at<Udp>(packet, udp_at).set<&Udp::length>(static_cast<std::uint16_t>(packet.size() - udp_at));
}

void set_ipv4_lengths(wire::MutableBytes packet, std::uint32_t sum, std::uint16_t id) {
    const auto length = static_cast<std::uint16_t>(packet.size());
    const auto ip = writable_part_at<Ipv4>(packet);
    ip.set<&Ipv4::total_length>(length);
    ip.set<&Ipv4::identification>(id);
    ip.set<&Ipv4::checksum>(wire::InternetChecksum().add(sum).add(length).add(id).value());
    set_udp_length(packet, Ipv4::size);
}

void set_ipv6_lengths(wire::MutableBytes packet) {
    writable_part_at<Ipv6>(packet).set<&Ipv6::payload_length>(static_cast<std::uint16_t>(packet.size() - Ipv6::size));
    set_udp_length(packet, Ipv6::size);
}

void set_grh_length(wire::MutableBytes packet) {
    writable_part_at<Grh>(packet).set<&Grh::payload_length>(static_cast<std::uint16_t>(packet.size() - Grh::size));
}

}  // namespace

Envelope make_envelope(const SourceAddress& from, const wire::AddressHandle& to, wire::MacAddress to_mac,
                       std::uint16_t source_port) {
    const auto ecn = from.ecn ? Ecn::capable_0 : static_cast<Ecn>(to.traffic_class & 3);
    Header header;
    Envelope envelope{.carrier = from.carrier};
    if (from.carrier != Carrier::soft_ib) append_ethernet(header, from, to_mac, to.sl);
    envelope.covered_at = header.size;
    switch (from.carrier) {
        case Carrier::roce_v2_ipv4:
            append_ipv4(header, from, to, ecn);
            for (std::size_t i = 0; i < Ipv4::size; i += 2) {
                envelope.ip_sum += wire::load16(header.view(), envelope.covered_at + i);
            }
            append_udp(header, source_port);
            break;
        case Carrier::roce_v2_ipv6:
            append_ipv6(header, from, to, ecn);
            append_udp(header, source_port);
            break;
        case Carrier::roce_v1: append(header, soft_ib::grh_of(from.gid, to)); break;
        case Carrier::soft_ib:
            header = soft_ib::routing_header(from.lid, from.gid, to);
            envelope.covered_at = static_cast<std::uint8_t>(to.global ? header.size - Grh::size : Ethernet::size);
            break;
    }
    envelope.size = header.size;
    std::ranges::copy(header.view(), envelope.bytes.begin());
    return envelope;
}

std::uint16_t udp_source_port(std::uint32_t flow_label, wire::Qpn local, wire::Qpn remote) {
    constexpr std::uint32_t label_mask = 0xf'ffff, port_mask = 0x3fff, lowest = 0xc000;
    auto label = flow_label & label_mask;
    if (label == 0) {
        std::uint64_t product = std::uint64_t{static_cast<std::uint32_t>(local)} * static_cast<std::uint32_t>(remote);
        product ^= product >> 20;
        product ^= product >> 40;
        label = product & label_mask;
    }
    return static_cast<std::uint16_t>(lowest | ((label & port_mask) ^ label >> 14));
}

wire::MacAddress multicast_mac(Carrier carrier, const wire::Gid& group) {
    wire::MacAddress mac;
    wire::store16(mac.bytes, 0, 0x3333);
    wire::store32(mac.bytes, 2, wire::load32(group.bytes, ipv4_in_gid));
    if (carrier == Carrier::roce_v2_ipv4) {
        wire::store24(mac.bytes, 0, 0x01'005e);
        mac.bytes[3] &= std::byte{0x7f};  // 23 bits of the address
    }
    return mac;
}

void write_headers(std::span<std::byte> frame, const Envelope& envelope, std::uint16_t ip_id) noexcept {
    assert(frame.size() >= envelope.size + wire::Bth::size + trailer_size(envelope.carrier));
    std::memcpy(frame.data(), envelope.bytes.data(), envelope.size);
    write_lengths(frame, sealing_of(envelope), ip_id);
}

void write_lengths(std::span<std::byte> frame, const Sealing& sealing, std::uint16_t ip_id) noexcept {
    const auto packet = frame.subspan(sealing.covered_at);
    switch (sealing.carrier) {
        case Carrier::roce_v2_ipv4: return set_ipv4_lengths(packet, sealing.ip_sum, ip_id);
        case Carrier::roce_v2_ipv6: return set_ipv6_lengths(packet);
        case Carrier::roce_v1: return set_grh_length(packet);
        case Carrier::soft_ib: return soft_ib::set_lengths(frame);
    }
}

void write_crcs(std::span<std::byte> frame, Sealing sealing) noexcept {
    const auto packet = frame.subspan(sealing.covered_at);
    switch (sealing.carrier) {
        case Carrier::roce_v2_ipv4: wire::write_icrc(IcrcOver::ipv4, packet); return;
        case Carrier::roce_v2_ipv6: wire::write_icrc(IcrcOver::ipv6, packet); return;
        case Carrier::roce_v1: wire::write_icrc(IcrcOver::grh, packet); return;
        case Carrier::soft_ib: soft_ib::write_crcs(frame); return;
    }
}

}  // namespace verbline::link

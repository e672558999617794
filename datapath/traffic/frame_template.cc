// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/traffic/frame_template.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>

#include <fmt/format.h>

#include "datapath/wire/checksum.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/tcp.h"
#include "datapath/wire/udp.h"

namespace verbline::traffic {
namespace {

/// Where each header begins.
struct Offsets {
    std::size_t ip, l4, stamp;

    explicit Offsets(const FrameSpec& spec)
        : ip(wire::Ethernet::size + (spec.vlan ? wire::Vlan::size : 0)),
          l4(ip + (spec.ipv6 ? wire::Ipv6::size : wire::Ipv4::size)),
          stamp(l4 + (spec.transport == Transport::udp ? wire::Udp::size : wire::Tcp::size)) {}
};

std::uint32_t low_word(const auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (wire::Address<Value>) {
        return wire::load32(value.bytes, value.bytes.size() - 4);
    } else {
        return static_cast<std::uint32_t>(value);
    }
}

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

wire::IpProtocol protocol_of(const FrameSpec& spec) {
    return spec.transport == Transport::udp ? wire::IpProtocol::udp : wire::IpProtocol::tcp;
}

/// The sum of what is there, folded to 16 bits.
std::uint32_t sum_of(const wire::InternetChecksum& checksum) {
    return static_cast<std::uint16_t>(~checksum.value());
}

void emit_link_header(const FrameSpec& spec, wire::MutableBytes out) {
    const auto type = spec.ipv6 ? wire::ether_type::ipv6 : wire::ether_type::ipv4;
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
wire::InternetChecksum emit_ip_header(const FrameSpec& spec, std::size_t payload, wire::MutableBytes out) {
    wire::InternetChecksum pseudo;
    const auto protocol = static_cast<std::uint8_t>(protocol_of(spec));
    if (spec.ipv6) {
        const wire::Ipv6 ip{.payload_length = static_cast<std::uint16_t>(payload),
                            .next_header = protocol_of(spec),
                            .source = fixed_part(spec.source_ipv6),
                            .destination = fixed_part(spec.destination_ipv6)};
        ip.emit(out.first<wire::Ipv6::size>());
        pseudo.add_pseudo_header(ip.source, ip.destination, protocol, payload);
    } else {
        const wire::Ipv4 ip{.total_length = static_cast<std::uint16_t>(wire::Ipv4::size + payload),
                            .dont_fragment = true,
                            .protocol = protocol_of(spec),
                            .source = fixed_part(spec.source_ipv4),
                            .destination = fixed_part(spec.destination_ipv4)};
        ip.emit(out.first<wire::Ipv4::size>());
        pseudo.add_pseudo_header(ip.source, ip.destination, protocol, payload);
    }
    return pseudo;
}

void emit_l4_header(const FrameSpec& spec, std::size_t length, wire::MutableBytes out) {
    const auto from = fixed_part(spec.source_port), to = fixed_part(spec.destination_port);
    if (spec.transport == Transport::udp) {
        wire::Udp{.source_port = from, .destination_port = to, .length = static_cast<std::uint16_t>(length)}.emit(
            out.first<wire::Udp::size>());
    } else {
        wire::Tcp{.source_port = from, .destination_port = to, .flags = wire::tcp_flag::ack, .window = UINT16_MAX}.emit(
            out.first<wire::Tcp::size>());
    }
}

Prototype prototype(const FrameSpec& spec, const Offsets& at, std::uint32_t size) {
    Prototype made;
    made.length = static_cast<std::uint16_t>(size - fcs);
    const wire::MutableBytes head = made.head;
    emit_link_header(spec, head);
    const auto l4_length = made.length - at.l4;
    auto l4_sum = emit_ip_header(spec, l4_length, head.subspan(at.ip));
    emit_l4_header(spec, l4_length, head.subspan(at.l4));
    made.ip_sum = sum_of(wire::InternetChecksum().add(head.subspan(at.ip, at.l4 - at.ip)));
    made.l4_sum = sum_of(l4_sum.add(head.subspan(at.l4, at.stamp - at.l4)).add(Stamp::sum));
    return made;
}

}  // namespace

Result<FrameTemplate> FrameTemplate::make(const FrameSpec& spec, const SizeMix& sizes) {
    const Offsets at(spec);
    const auto least = static_cast<std::uint32_t>(at.stamp + Stamp::size + fcs);
    FrameTemplate made;
    for (const auto size : sizes.sizes()) {
        if (size < least) {
            return failure(EINVAL, fmt::format("frames of {} bytes have no room for their headers and the stamp behind "
                                               "them: give {} or more",
                                               size, least));
        }
        made.prototypes_.push_back(prototype(spec, at, size));
    }
    made.period_ = sizes.period();
    made.transport_ = spec.transport;
    made.ip_checksum_at_ = spec.ipv6 ? 0 : at.ip + 10;
    made.l4_checksum_at_ = at.l4 + (spec.transport == Transport::udp ? 6 : 16);
    made.stamp_at_ = at.stamp;

    const auto vary = [&](const auto& values, std::size_t offset, std::uint8_t width, bool ip, bool l4) {
        if (values.count <= 1) return;
        made.flows_ *= values.count;
        made.fields_.push_back(
            {static_cast<std::uint16_t>(offset), width, ip, l4, low_word(values.first), values.count});
    };
    vary(spec.source_port, at.l4, 2, false, true);
    vary(spec.destination_port, at.l4 + 2, 2, false, true);
    if (spec.ipv6) {
        vary(spec.source_ipv6, at.ip + 20, 4, false, true);
        vary(spec.destination_ipv6, at.ip + 36, 4, false, true);
    } else {
        vary(spec.source_ipv4, at.ip + 12, 4, true, true);
        vary(spec.destination_ipv4, at.ip + 16, 4, true, true);
    }
    if (spec.vlan) vary(*spec.vlan, wire::Ethernet::size, 2, false, false);
    vary(spec.destination_mac, 2, 4, false, false);
    vary(spec.source_mac, 8, 4, false, false);
    return made;
}

}  // namespace verbline::traffic

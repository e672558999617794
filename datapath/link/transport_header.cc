// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/transport_header.h"

#include "datapath/link/part.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/grh.h"
#include "datapath/wire/ip.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/lrh.h"
#include "datapath/wire/udp.h"

namespace verbline::link {
namespace {

using wire::Bth, wire::Ethernet, wire::Grh, wire::Ipv4, wire::Ipv6, wire::Lrh, wire::Udp, wire::Vlan;

/// `at` if the frame holds this header there.
template <class Part>
bool holds(wire::Bytes frame, std::size_t at) {
    return frame.size() >= at + Part::size;
}

std::optional<std::size_t> behind_udp(wire::Bytes frame, std::size_t at) {
    if (!holds<Udp>(frame, at) || part_at<Udp>(frame, at).get<&Udp::destination_port>() != wire::roce_v2_port) {
        return std::nullopt;
    }
    return at + Udp::size;
}

std::optional<std::size_t> behind_ipv4(wire::Bytes frame, std::size_t at) {
    if (!holds<Ipv4>(frame, at)) return std::nullopt;
    const auto ip = part_at<Ipv4>(frame, at);
    const bool whole = !ip.get<&Ipv4::more_fragments>() && ip.get<&Ipv4::fragment_offset>() == 0;
    if (!whole || ip.get<&Ipv4::protocol>() != wire::IpProtocol::udp) return std::nullopt;
    return behind_udp(frame, at + std::size_t{ip.get<&Ipv4::header_words>()} * 4);
}

std::optional<std::size_t> behind_ipv6(wire::Bytes frame, std::size_t at) {
    if (!holds<Ipv6>(frame, at)) return std::nullopt;
    if (part_at<Ipv6>(frame, at).get<&Ipv6::next_header>() != wire::IpProtocol::udp) return std::nullopt;
    return behind_udp(frame, at + Ipv6::size);
}

std::optional<std::size_t> behind_grh(wire::Bytes frame, std::size_t at) {
    if (!holds<Grh>(frame, at) || part_at<Grh>(frame, at).get<&Grh::next_header>() != Grh::transport) {
        return std::nullopt;
    }
    return at + Grh::size;
}

std::optional<std::size_t> behind_lrh(wire::Bytes frame, std::size_t at) {
    if (!holds<Lrh>(frame, at)) return std::nullopt;
    switch (part_at<Lrh>(frame, at).get<&Lrh::next>()) {
        case wire::NextHeader::bth: return at + Lrh::size;
        case wire::NextHeader::grh: return behind_grh(frame, at + Lrh::size);
        default: return std::nullopt;
    }
}

std::optional<std::size_t> behind_network(wire::Bytes frame, wire::EtherType type, std::size_t at) {
    switch (type) {
        case wire::ether_type::ipv4: return behind_ipv4(frame, at);
        case wire::ether_type::ipv6: return behind_ipv6(frame, at);
        case wire::ether_type::roce_v1: return behind_grh(frame, at);
        case wire::ether_type::soft_ib: return behind_lrh(frame, at);
        default: return std::nullopt;
    }
}

}  // namespace

std::optional<std::size_t> transport_header_at(wire::Bytes frame) noexcept {
    if (!holds<Ethernet>(frame, 0)) return std::nullopt;
    auto type = part_at<Ethernet>(frame).get<&Ethernet::type>();
    std::size_t at = Ethernet::size;
    if (type == wire::ether_type::vlan) {
        if (!holds<Vlan>(frame, at)) return std::nullopt;
        type = part_at<Vlan>(frame, at).get<&Vlan::type>();
        at += Vlan::size;
    }
    const auto bth = behind_network(frame, type, at);
    return bth && holds<Bth>(frame, *bth) ? bth : std::nullopt;
}

}  // namespace verbline::link

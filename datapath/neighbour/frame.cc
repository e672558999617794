// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/frame.h"

#include "datapath/link/envelope.h"
#include "datapath/neighbour/arp.h"
#include "datapath/neighbour/discovery.h"
#include "datapath/wire/ethernet.h"

namespace verbline::neighbour {
namespace {

using wire::MacAddress;

constexpr std::size_t shortest_ethernet = 60;  ///< without FCS

static_assert(wire::Ethernet::size + discovery_size<MacAddress> == Frame::capacity);
static_assert(wire::Ethernet::size + max_arp_size <= Frame::capacity);

}  // namespace

Read read_frame(wire::Bytes frame) {
    const auto ethernet = wire::Ethernet::parse(frame);
    if (!ethernet) return {};
    const auto packet = frame.subspan(wire::Ethernet::size);
    if (ethernet->type != wire::ether_type::arp && ethernet->type != wire::ether_type::ipv6) return {};
    auto read =
        ethernet->type == wire::ether_type::arp ? read_arp(packet, MacAddress{}) : read_discovery<MacAddress>(packet);
    if (read.kind != Kind::resolution) return read;
    if (!is_host(ethernet->source)) return {.kind = Kind::malformed, .family = read.family};
    read.message.frame_source = ethernet->source;
    return read;
}

Frame write_frame(const Message& message, const std::optional<MacAddress>& to) {
    Frame frame;
    const auto packet = std::span(frame.bytes).subspan<wire::Ethernet::size>();
    const bool ipv4 = family_of(message.source.value_or(message.subject)) == Family::ipv4;
    const auto to_all =
        ipv4 ? wire::broadcast_mac : link::multicast_mac(link::Carrier::roce_v2_ipv6, multicast_group_of(message));
    wire::Ethernet{to.value_or(to_all), std::get<MacAddress>(*message.at),
                   ipv4 ? wire::ether_type::arp : wire::ether_type::ipv6}
        .emit(std::span(frame.bytes).first<wire::Ethernet::size>());
    if (ipv4) {
        write_arp(packet, message, to);
        frame.size = shortest_ethernet;
    } else {
        frame.size = wire::Ethernet::size + write_discovery(packet, message, to.has_value());
    }
    return frame;
}

}  // namespace verbline::neighbour

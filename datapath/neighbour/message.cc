// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/message.h"

#include "datapath/link/envelope.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/arp.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/icmpv6.h"
#include "datapath/wire/ipv6.h"

namespace verbline::neighbour {
namespace {

using wire::Bytes;
using wire::Gid;
using wire::MacAddress;

constexpr std::size_t shortest_ethernet = 60;  ///< without FCS

static_assert(wire::Ethernet::size + discovery_size<MacAddress> == Frame::capacity);

template <class Header>
std::size_t put(Frame& frame, std::size_t place, const Header& header) {
    header.emit(std::span(frame.bytes).subspan(place).template first<Header::size>());
    return place + Header::size;
}

Frame arp_frame(const MacAddress& destination, const wire::EthernetArp& arp) {
    Frame frame;
    const auto at = put(frame, 0, wire::Ethernet{destination, arp.sender_link, wire::ether_type::arp});
    put(frame, at, arp);
    frame.size = shortest_ethernet;
    return frame;
}

Frame nd_frame(const MacAddress& own, const MacAddress& destination_mac, const Gid& source, const Gid& destination,
               const wire::NeighbourMessage& message) {
    Frame frame;
    const auto at = put(frame, 0, wire::Ethernet{destination_mac, own, wire::ether_type::ipv6});
    const auto packet = std::span(frame.bytes).last<discovery_size<MacAddress>>();
    frame.size = at + write_discovery(packet, own, source, destination, message);
    return frame;
}

Read read_arp(const wire::Ethernet& ethernet, Bytes packet) {
    const auto arp = wire::EthernetArp::parse(packet);
    const bool request = arp && arp->operation == wire::ArpOperation::request;
    if (!arp || (!request && arp->operation != wire::ArpOperation::reply) || !is_host(arp->sender_link)) {
        return {FrameKind::malformed};
    }
    const bool probe = arp->sender == wire::Ipv4Address{};
    const auto speaker = link::gid_of(arp->sender);
    if (probe ? !request : !is_host(speaker)) return {FrameKind::malformed};
    const bool gratuitous = arp->sender == arp->target;
    return {FrameKind::resolution,
            {.asks = request && !gratuitous,
             .speaker = probe ? std::nullopt : std::optional(speaker),
             .at = arp->sender_link,
             .subject = gratuitous ? Gid{} : link::gid_of(arp->target),
             .sender = ethernet.source,
             .solicited = !request && !gratuitous}};
}

Read read_ipv6(const wire::Ethernet& ethernet, Bytes packet) {
    const auto [kind, message] = read_discovery<MacAddress>(packet);
    return {kind,
            {.asks = message.asks,
             .speaker = message.speaker,
             .at = message.at,
             .subject = message.subject,
             .sender = ethernet.source,
             .solicited = message.solicited,
             .overrides = message.overrides}};
}

}  // namespace

Family family_of(const Gid& gid) {
    return link::ipv4_of(gid) ? Family::ipv4 : Family::ipv6;
}

Read read_message(Bytes frame) {
    const auto ethernet = wire::Ethernet::parse(frame);
    if (!ethernet) return {};
    const auto packet = frame.subspan(wire::Ethernet::size);
    if (ethernet->type != wire::ether_type::arp && ethernet->type != wire::ether_type::ipv6) return {};
    const auto read =
        ethernet->type == wire::ether_type::arp ? read_arp(*ethernet, packet) : read_ipv6(*ethernet, packet);
    if (read.kind == FrameKind::resolution && !is_host(ethernet->source)) return {FrameKind::malformed};
    return read;
}

Frame make_request(const MacAddress& own, const std::optional<Gid>& from, const Gid& subject,
                   const std::optional<MacAddress>& to) {
    if (const auto target = link::ipv4_of(subject)) {
        return arp_frame(to.value_or(wire::broadcast_mac),
                         {.operation = wire::ArpOperation::request,
                          .sender_link = own,
                          .sender = from ? link::ipv4_of(*from).value_or(wire::Ipv4Address{}) : wire::Ipv4Address{},
                          .target = *target});
    }
    const auto group = solicited_node(subject);
    return nd_frame(own, to.value_or(link::multicast_mac(link::Carrier::roce_v2_ipv6, group)), from.value_or(Gid{}),
                    to ? subject : group,
                    {.type = wire::icmpv6_type::neighbour_solicitation, .target = link::ipv6_of(subject)});
}

Frame make_reply(const MacAddress& own, const Gid& subject, const std::optional<Gid>& to, const MacAddress& mac) {
    if (const auto sender = link::ipv4_of(subject)) {
        return arp_frame(mac, {.operation = wire::ArpOperation::reply,
                               .sender_link = own,
                               .sender = *sender,
                               .target_link = mac,
                               .target = to ? link::ipv4_of(*to).value_or(wire::Ipv4Address{}) : wire::Ipv4Address{}});
    }
    // To one who has no address yet it goes to all (RFC 4861, 7.2.4).
    const auto group_mac = link::multicast_mac(link::Carrier::roce_v2_ipv6, all_nodes);
    return nd_frame(own, to ? mac : group_mac, subject, to.value_or(all_nodes),
                    {.type = wire::icmpv6_type::neighbour_advertisement,
                     .solicited = to.has_value(),
                     .override_cached = true,
                     .target = link::ipv6_of(subject)});
}

Frame make_announcement(const MacAddress& own, const Gid& subject) {
    if (const auto address = link::ipv4_of(subject)) {
        return arp_frame(
            wire::broadcast_mac,
            {.operation = wire::ArpOperation::request, .sender_link = own, .sender = *address, .target = *address});
    }
    return make_reply(own, subject, std::nullopt, {});
}

}  // namespace verbline::neighbour

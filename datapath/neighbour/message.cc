// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/message.h"

#include <algorithm>

#include "datapath/link/envelope.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/arp.h"
#include "datapath/wire/checksum.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/icmpv6.h"
#include "datapath/wire/ipv6.h"

namespace verbline::neighbour {
namespace {

using wire::Bytes;
using wire::Gid;
using wire::MacAddress;

constexpr std::uint8_t nd_hop_limit = 255;     ///< proof that no router has passed it on (RFC 4861, 3.1)
constexpr std::size_t shortest_ethernet = 60;  ///< without FCS

using LinkOption = wire::NdLinkAddress<MacAddress>;
constexpr std::size_t nd_size = wire::NeighbourMessage::size + LinkOption::size;
static_assert(wire::Ethernet::size + wire::Ipv6::size + nd_size == Frame::capacity);

wire::Ipv6Address ipv6_of(const Gid& gid) {
    return {gid.bytes};
}

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

/// With the link-layer address option, unless the source is unspecified (RFC 4861, 4.3).
Frame nd_frame(const MacAddress& own, const MacAddress& destination_mac, const Gid& source, const Gid& destination,
               wire::NeighbourMessage message) {
    const auto protocol = wire::IpProtocol::icmpv6;
    const auto size = source == Gid{} ? wire::NeighbourMessage::size : nd_size;
    const auto option = message.type == wire::icmpv6_type::neighbour_solicitation
                            ? wire::nd_option::source_link_address
                            : wire::nd_option::target_link_address;
    Frame frame;
    auto at = put(frame, 0, wire::Ethernet{destination_mac, own, wire::ether_type::ipv6});
    at = put(frame, at,
             wire::Ipv6{.payload_length = static_cast<std::uint16_t>(size),
                        .next_header = protocol,
                        .hop_limit = nd_hop_limit,
                        .source = ipv6_of(source),
                        .destination = ipv6_of(destination)});
    const auto icmp = at;
    at = put(frame, at, message);
    if (size == nd_size) at = put(frame, at, LinkOption{option, own});
    frame.size = at;
    message.checksum =
        wire::InternetChecksum()
            .add_pseudo_header(ipv6_of(source), ipv6_of(destination), static_cast<std::uint8_t>(protocol), size)
            .add(frame.view().subspan(icmp))
            .value();
    put(frame, icmp, message);
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

/// The link-layer address among the options. False if they are not options.
bool find_link_address(Bytes bytes, std::uint8_t type, std::optional<MacAddress>& found) {
    wire::NdOptions options(bytes);
    for (;;) {
        const auto option = options.next();
        if (!option) return false;
        if (!*option) return true;
        if ((*option)->type != type) continue;
        const auto link = LinkOption::parse((*option)->bytes);
        if (!link || !is_host(link->address)) return false;
        found = link->address;
    }
}

/// As RFC 4861, 7.1.1 and 7.1.2 have it checked.
Read read_nd(const wire::Ethernet& ethernet, const wire::Ipv6& ip, Bytes icmp) {
    const auto message = wire::NeighbourMessage::parse(icmp);
    const auto sum =
        wire::InternetChecksum()
            .add_pseudo_header(ip.source, ip.destination, static_cast<std::uint8_t>(ip.next_header), icmp.size())
            .add(icmp);
    if (!message || ip.hop_limit != nd_hop_limit || sum.value() != 0) return {FrameKind::malformed};
    const bool asks = message->type == wire::icmpv6_type::neighbour_solicitation;
    const Gid source{ip.source.bytes}, destination{ip.destination.bytes}, target{message->target.bytes};
    const auto option = asks ? wire::nd_option::source_link_address : wire::nd_option::target_link_address;
    std::optional<MacAddress> at;
    if (!is_host(target) || !find_link_address(icmp.subspan(wire::NeighbourMessage::size), option, at)) {
        return {FrameKind::malformed};
    }
    const bool probe = source == Gid{};
    if (!asks) {
        if (!is_host(source) || (message->solicited && destination.multicast())) return {FrameKind::malformed};
        return {FrameKind::resolution,
                {.speaker = target,
                 .at = at,
                 .subject = destination.multicast() ? Gid{} : destination,
                 .sender = ethernet.source,
                 .solicited = message->solicited,
                 .overrides = message->override_cached}};
    }
    if (probe ? at || destination != solicited_node(target) : !is_host(source)) return {FrameKind::malformed};
    return {FrameKind::resolution,
            {.asks = true,
             .speaker = probe ? std::nullopt : std::optional(source),
             .at = at,
             .subject = target,
             .sender = ethernet.source}};
}

Read read_ipv6(const wire::Ethernet& ethernet, Bytes packet) {
    const auto ip = wire::View<wire::Ipv6>::over(packet);
    if (!ip || ip->get<&wire::Ipv6::next_header>() != wire::IpProtocol::icmpv6) return {};
    const auto icmp = wire::Icmpv6::parse(packet.subspan(wire::Ipv6::size));
    if (!icmp || (icmp->type != wire::icmpv6_type::neighbour_solicitation &&
                  icmp->type != wire::icmpv6_type::neighbour_advertisement)) {
        return {};
    }
    const auto header = wire::Ipv6::parse(packet);
    if (!header) return {FrameKind::malformed};
    return read_nd(ethernet, *header, packet.subspan(wire::Ipv6::size, header->payload_length));
}

}  // namespace

Family family_of(const Gid& gid) {
    return link::ipv4_of(gid) ? Family::ipv4 : Family::ipv6;
}

bool is_host(const Gid& gid) {
    if (const auto address = link::ipv4_of(gid)) {
        const auto first = static_cast<std::uint32_t>(*address) >> 24;
        return first != 0 && first != 127 && first < 224;
    }
    const bool loopback_or_none = gid.prefix() == 0 && gid.interface_id() <= wire::Guid{1};
    return !gid.multicast() && !loopback_or_none;
}

bool is_host(const MacAddress& mac) {
    return !mac.multicast() && mac != MacAddress{};
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
                    {.type = wire::icmpv6_type::neighbour_solicitation, .target = ipv6_of(subject)});
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
                     .target = ipv6_of(subject)});
}

Frame make_announcement(const MacAddress& own, const Gid& subject) {
    if (const auto address = link::ipv4_of(subject)) {
        return arp_frame(
            wire::broadcast_mac,
            {.operation = wire::ArpOperation::request, .sender_link = own, .sender = *address, .target = *address});
    }
    return make_reply(own, subject, std::nullopt, {});
}

Gid solicited_node(const Gid& gid) {
    auto group = Gid::of(0xff02'0000'0000'0000, wire::Guid{0x1'ff00'0000});
    std::ranges::copy(std::span(gid.bytes).last<3>(), std::span(group.bytes).last<3>().begin());
    return group;
}

}  // namespace verbline::neighbour

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/discovery.h"

#include <algorithm>

#include "datapath/link/ip_gid.h"
#include "datapath/wire/checksum.h"

namespace verbline::neighbour {
namespace {

using wire::Bytes;
using wire::Gid;

constexpr std::uint8_t nd_hop_limit = 255;  ///< proof that no router has passed it on (RFC 4861, 3.1)

wire::InternetChecksum checksum_of(const wire::Ipv6& ip, Bytes icmp) {
    return wire::InternetChecksum()
        .add_pseudo_header(ip.source, ip.destination, static_cast<std::uint8_t>(ip.next_header), icmp.size())
        .add(icmp);
}

std::uint8_t option_of(std::uint8_t type) {
    return type == wire::icmpv6_type::neighbour_solicitation ? wire::nd_option::source_link_address
                                                             : wire::nd_option::target_link_address;
}

/// The link-layer address among the options. False if they are not options.
template <class LinkAddress>
bool find_link_address(Bytes bytes, std::uint8_t type, std::optional<LinkAddress>& found) {
    wire::NdOptions options(bytes);
    for (;;) {
        const auto next = options.next();
        if (!next) return false;
        const auto& option = *next;
        if (!option) return true;
        if (option->type != type) continue;
        const auto link = wire::NdLinkAddress<LinkAddress>::parse(option->bytes);
        if (!link || !is_host(link->address)) return false;
        found = link->address;
    }
}

template <class LinkAddress>
std::optional<Discovery<LinkAddress>> read_message(const wire::Ipv6& ip, Bytes icmp) {
    const auto message = wire::NeighbourMessage::parse(icmp);
    if (!message || ip.hop_limit != nd_hop_limit || checksum_of(ip, icmp).value() != 0) return std::nullopt;
    const bool asks = message->type == wire::icmpv6_type::neighbour_solicitation;
    const Gid source{ip.source.bytes}, destination{ip.destination.bytes}, target{message->target.bytes};
    std::optional<LinkAddress> at;
    if (!is_host(target) ||
        !find_link_address(icmp.subspan(wire::NeighbourMessage::size), option_of(message->type), at)) {
        return std::nullopt;
    }
    if (!asks) {
        if (!is_host(source) || (message->solicited && destination.multicast())) return std::nullopt;
        return Discovery<LinkAddress>{.speaker = target,
                                      .at = at,
                                      .subject = destination.multicast() ? Gid{} : destination,
                                      .solicited = message->solicited,
                                      .overrides = message->override_cached};
    }
    const bool probe = source == Gid{};
    if (probe ? at || destination != solicited_node(target) : !is_host(source)) return std::nullopt;
    return Discovery<LinkAddress>{
        .asks = true, .speaker = probe ? std::nullopt : std::optional(source), .at = at, .subject = target};
}

}  // namespace

bool is_host(const Gid& gid) {
    if (const auto address = link::ipv4_of(gid)) {
        const auto first = static_cast<std::uint32_t>(*address) >> 24;
        return first != 0 && first != 127 && first < 224;
    }
    const bool loopback_or_none = gid.prefix() == 0 && gid.interface_id() <= wire::Guid{1};
    return !gid.multicast() && !loopback_or_none;
}

bool is_host(const wire::MacAddress& mac) {
    return !mac.multicast() && mac != wire::MacAddress{};
}

bool is_host(const wire::IpoibAddress& address) {
    return address.qpn != wire::Qpn{} && address.qpn != wire::multicast_qpn && address.gid != Gid{} &&
           !address.gid.multicast();
}

Gid solicited_node(const Gid& gid) {
    auto group = Gid::of(0xff02'0000'0000'0000, wire::Guid{0x1'ff00'0000});
    std::ranges::copy(std::span(gid.bytes).last<3>(), std::span(group.bytes).last<3>().begin());
    return group;
}

template <class LinkAddress>
DiscoveryRead<LinkAddress> read_discovery(Bytes packet) {
    const auto ip = wire::View<wire::Ipv6>::over(packet);
    if (!ip || ip->get<&wire::Ipv6::next_header>() != wire::IpProtocol::icmpv6) return {};
    const auto icmp = wire::Icmpv6::parse(packet.subspan(wire::Ipv6::size));
    if (!icmp || (icmp->type != wire::icmpv6_type::neighbour_solicitation &&
                  icmp->type != wire::icmpv6_type::neighbour_advertisement)) {
        return {};
    }
    const auto header = wire::Ipv6::parse(packet);
    if (!header) return {FrameKind::malformed};
    const auto message = read_message<LinkAddress>(*header, packet.subspan(wire::Ipv6::size, header->payload_length));
    if (!message) return {FrameKind::malformed};
    return {FrameKind::resolution, *message};
}

template <class LinkAddress>
std::size_t write_discovery(std::span<std::byte, discovery_size<LinkAddress>> out, const LinkAddress& own,
                            const Gid& source, const Gid& destination, wire::NeighbourMessage message) {
    using Option = wire::NdLinkAddress<LinkAddress>;
    const auto size = wire::NeighbourMessage::size + (source == Gid{} ? 0 : Option::size);
    const wire::Ipv6 ip{.payload_length = static_cast<std::uint16_t>(size),
                        .next_header = wire::IpProtocol::icmpv6,
                        .hop_limit = nd_hop_limit,
                        .source = link::ipv6_of(source),
                        .destination = link::ipv6_of(destination)};
    const auto icmp = out.subspan(wire::Ipv6::size);
    ip.emit(out.template first<wire::Ipv6::size>());
    message.checksum = 0;
    message.emit(icmp.template first<wire::NeighbourMessage::size>());
    if (source != Gid{}) {
        Option{option_of(message.type), own}.emit(
            icmp.subspan(wire::NeighbourMessage::size).template first<Option::size>());
    }
    message.checksum = checksum_of(ip, icmp.first(size)).value();
    message.emit(icmp.template first<wire::NeighbourMessage::size>());
    return wire::Ipv6::size + size;
}

template DiscoveryRead<wire::MacAddress> read_discovery(Bytes);
template DiscoveryRead<wire::IpoibAddress> read_discovery(Bytes);
template std::size_t write_discovery(std::span<std::byte, discovery_size<wire::MacAddress>>, const wire::MacAddress&,
                                     const Gid&, const Gid&, wire::NeighbourMessage);
template std::size_t write_discovery(std::span<std::byte, discovery_size<wire::IpoibAddress>>,
                                     const wire::IpoibAddress&, const Gid&, const Gid&, wire::NeighbourMessage);

}  // namespace verbline::neighbour

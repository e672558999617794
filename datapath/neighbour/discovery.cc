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

/// The nonce of a probe; 0: none of six bytes.
std::uint64_t find_nonce(Bytes options_bytes) {
    wire::NdOptions options(options_bytes);
    for (auto next = options.next(); next && *next; next = options.next()) {
        if ((*next)->type != wire::nd_option::nonce) continue;
        const auto option = wire::NdNonce::parse((*next)->bytes);
        return option ? option->nonce : 0;
    }
    return 0;
}

template <class Address>
std::optional<Message> read_message(const wire::Ipv6& ip, Bytes icmp) {
    const auto message = wire::NeighbourMessage::parse(icmp);
    if (!message || !genuine_discovery(ip, icmp)) return std::nullopt;
    const bool solicits = message->type == wire::icmpv6_type::neighbour_solicitation;
    const Gid source{ip.source.bytes}, destination{ip.destination.bytes}, target{message->target.bytes};
    std::optional<Address> at;
    // A mapped address belongs to ARP, and is none of a packet's (RFC 4291, 2.5.5.2).
    if (!is_host(target) || family_of(target) != Family::ipv6 || family_of(source) != Family::ipv6 ||
        !find_link_address(icmp.subspan(wire::NeighbourMessage::size), option_of(message->type), at)) {
        return std::nullopt;
    }
    if (!solicits) {
        if (!is_host(source) || (message->solicited && destination.multicast())) return std::nullopt;
        return Message{.source = target,
                       .at = at,
                       .subject = destination.multicast() ? Gid{} : destination,
                       .solicited = message->solicited,
                       .overrides = message->override_cached};
    }
    const bool probe = source == Gid{};
    if (probe ? at || destination != solicited_node(target) : !is_host(source)) return std::nullopt;
    return Message{.solicits = true,
                   .source = probe ? std::nullopt : std::optional(source),
                   .at = at,
                   .subject = target,
                   .nonce = probe ? find_nonce(icmp.subspan(wire::NeighbourMessage::size)) : 0};
}

template <class Address>
std::size_t write(std::span<std::byte, discovery_size<Address>> out, const Address& own, const Gid& source,
                  const Gid& destination, const wire::NeighbourMessage& message, std::uint64_t nonce) {
    using Option = wire::NdLinkAddress<Address>;
    const bool probe = source == Gid{};
    const auto option_size = !probe ? Option::size : nonce != 0 ? wire::NdNonce::size : 0;
    const auto size = wire::NeighbourMessage::size + option_size;
    const auto icmp = out.subspan(wire::Ipv6::size);
    message.emit(icmp.template first<wire::NeighbourMessage::size>());
    const auto option = icmp.subspan(wire::NeighbourMessage::size);
    if (!probe) {
        Option{option_of(message.type), own}.emit(option.template first<Option::size>());
    } else if (nonce != 0) {
        wire::NdNonce{nonce}.emit(option.template first<wire::NdNonce::size>());
    }
    finish_discovery(out.first(wire::Ipv6::size + size), link::ipv6_of(source), link::ipv6_of(destination));
    return wire::Ipv6::size + size;
}

}  // namespace

bool genuine_discovery(const wire::Ipv6& ip, Bytes icmp) {
    return ip.hop_limit == nd_hop_limit && checksum_of(ip, icmp).value() == 0;
}

template <class Address>
bool find_link_address(Bytes bytes, std::uint8_t type, std::optional<Address>& found) {
    wire::NdOptions options(bytes);
    for (;;) {
        const auto next = options.next();
        if (!next) return false;
        const auto& option = *next;
        if (!option) return true;
        if (option->type != type) continue;
        const auto link = wire::NdLinkAddress<Address>::parse(option->bytes);
        if (!link || !is_host(link->address)) return false;
        found = link->address;
    }
}

void finish_discovery(wire::MutableBytes packet, const wire::Ipv6Address& source,
                      const wire::Ipv6Address& destination) {
    constexpr std::size_t checksum_at = 2;
    const auto icmp = packet.subspan(wire::Ipv6::size);
    const wire::Ipv6 ip{.payload_length = static_cast<std::uint16_t>(icmp.size()),
                        .next_header = wire::IpProtocol::icmpv6,
                        .hop_limit = nd_hop_limit,
                        .source = source,
                        .destination = destination};
    ip.emit(packet.first<wire::Ipv6::size>());
    wire::store16(icmp, checksum_at, 0);
    wire::store16(icmp, checksum_at, checksum_of(ip, icmp).value());
}

Gid solicited_node(const Gid& gid) {
    auto group = Gid::of(0xff02'0000'0000'0000, wire::Guid{0x1'ff00'0000});
    std::ranges::copy(std::span(gid.bytes).last<3>(), std::span(group.bytes).last<3>().begin());
    return group;
}

std::vector<Gid> groups_of(const std::vector<link::InterfaceAddress>& addresses) {
    std::vector<Gid> groups{all_nodes};
    for (const auto& [address, length, pkey] : addresses) {
        const auto group = solicited_node(address);
        if (family_of(address) == Family::ipv6 && std::ranges::find(groups, group) == groups.end()) {
            groups.push_back(group);
        }
    }
    return groups;
}

template <class Address>
Read read_discovery(Bytes packet) {
    const auto ip = wire::View<wire::Ipv6>::over(packet);
    if (!ip || ip->get<&wire::Ipv6::next_header>() != wire::IpProtocol::icmpv6) return {};
    const auto icmp = wire::Icmpv6::parse(packet.subspan(wire::Ipv6::size));
    if (!icmp || (icmp->type != wire::icmpv6_type::neighbour_solicitation &&
                  icmp->type != wire::icmpv6_type::neighbour_advertisement)) {
        return {};
    }
    const auto header = wire::Ipv6::parse(packet);
    const Read malformed{.kind = Kind::malformed, .family = Family::ipv6};
    if (!header) return malformed;
    const auto message = read_message<Address>(*header, packet.subspan(wire::Ipv6::size, header->payload_length));
    if (!message) return malformed;
    return {.kind = Kind::resolution, .family = Family::ipv6, .message = *message};
}

Gid multicast_group_of(const Message& message) {
    return message.solicits ? solicited_node(message.subject) : all_nodes;
}

std::size_t write_discovery(wire::MutableBytes out, const Message& message, bool unicast) {
    const bool to_group = message.solicits ? !unicast : message.subject == Gid{};
    const auto source = message.source.value_or(Gid{});
    const auto destination = to_group ? multicast_group_of(message) : message.subject;
    const wire::NeighbourMessage body{.type = message.solicits ? wire::icmpv6_type::neighbour_solicitation
                                                               : wire::icmpv6_type::neighbour_advertisement,
                                      .router = message.router,
                                      .solicited = message.solicited,
                                      .override_cached = !message.solicits && message.overrides,
                                      .target = link::ipv6_of(message.solicits ? message.subject : source)};
    return std::visit(
        [&]<class Address>(const Address& own) {
            return write(out.template first<discovery_size<Address>>(), own, source, destination, body, message.nonce);
        },
        *message.at);
}

template bool find_link_address(Bytes, std::uint8_t, std::optional<wire::MacAddress>&);
template bool find_link_address(Bytes, std::uint8_t, std::optional<wire::IpoibAddress>&);
template Read read_discovery<wire::MacAddress>(Bytes);
template Read read_discovery<wire::IpoibAddress>(Bytes);

}  // namespace verbline::neighbour

// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/router_discovery.h"

#include <algorithm>
#include <span>
#include <variant>

#include "datapath/link/ip_gid.h"
#include "datapath/neighbour/discovery.h"
#include "datapath/wire/append.h"
#include "datapath/wire/icmpv6.h"
#include "datapath/wire/ipv6.h"

namespace verbline::neighbour {
namespace {

/// For the packets of hosts that take it over; the kernel's own.
constexpr std::uint8_t advertised_hop_limit = 64;

}  // namespace

std::vector<std::byte> write_advertisement(const Advertisement& advertisement) {
    std::vector<std::byte> packet(wire::Ipv6::size);
    append(packet, wire::RouterAdvertisement{.hop_limit = advertised_hop_limit, .lifetime = advertisement.lifetime});
    const auto append_address = [&]<class Address>(const Address& own) {
        append(packet, wire::NdLinkAddress<Address>{wire::nd_option::source_link_address, own});
    };
    if (advertisement.at) std::visit(append_address, *advertisement.at);
    if (advertisement.mtu != 0) append(packet, wire::NdMtu{advertisement.mtu});
    const auto& prefixes = advertisement.prefixes;
    for (const auto& each : std::span(prefixes).first(std::min(prefixes.size(), max_advertised_prefixes))) {
        append(packet, wire::NdPrefix{.length = each.prefix.length,
                                      .on_link = true,
                                      .autonomous = each.autonomous,
                                      .valid = each.valid,
                                      .preferred = each.preferred,
                                      .prefix = each.prefix.network()});
    }
    finish_discovery(packet, advertisement.source, link::ipv6_of(all_nodes));
    return packet;
}

template <class Address>
Solicitation read_solicitation(wire::Bytes packet) {
    const auto ip = wire::Ipv6::parse(packet);
    if (!ip || ip->next_header != wire::IpProtocol::icmpv6) return Solicitation::none;
    const auto icmp = packet.subspan(wire::Ipv6::size, ip->payload_length);
    const auto header = wire::Icmpv6::parse(icmp);
    if (!header || header->type != wire::icmpv6_type::router_solicitation) return Solicitation::none;
    std::optional<Address> at;
    const bool valid = header->code == 0 && genuine_discovery(*ip, icmp) &&
                       find_link_address(icmp.subspan(wire::Icmpv6::size), wire::nd_option::source_link_address, at) &&
                       !(at && ip->source == wire::Ipv6Address{});
    return valid ? Solicitation::valid : Solicitation::malformed;
}

template Solicitation read_solicitation<wire::MacAddress>(wire::Bytes);
template Solicitation read_solicitation<wire::IpoibAddress>(wire::Bytes);

}  // namespace verbline::neighbour

// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/translate.h"

#include <algorithm>
#include <span>

#include "datapath/neighbour/discovery.h"
#include "datapath/neighbour/link_address.h"
#include "datapath/wire/arp.h"
#include "datapath/wire/icmpv6.h"
#include "datapath/wire/ipv6.h"

namespace verbline::net_ipoib {
namespace {

using wire::Bytes, wire::IpoibAddress, wire::MacAddress;
using enum Untranslated;
namespace option = wire::nd_option;
namespace message = wire::icmpv6_type;

/// What is in front of the options of a message of this type.
std::size_t fixed_part(std::uint8_t type) {
    switch (type) {
        case message::router_solicitation: return wire::Icmpv6::size;
        case message::router_advertisement: return wire::RouterAdvertisement::size;
        case message::redirect: return wire::NdRedirect::size;
        default: return wire::NeighbourMessage::size;
    }
}

/// Whether an option says where the sender of the message itself is; else it is a third host's.
bool is_senders(std::uint8_t message_type, std::uint8_t option_type) {
    return option_type == option::source_link_address || message_type == message::neighbour_advertisement;
}

/// The options of a message, those that name addresses rewritten by `translate`, which takes whether the address is
/// the sender's.
template <class From, class To, class Translate>
std::expected<void, Untranslated> copy_options(Bytes options, std::uint8_t message_type, Untranslated malformed,
                                               Translate translate, Packet& out) {
    wire::NdOptions rest(options);
    for (;;) {
        const auto next = rest.next();
        if (!next) return std::unexpected(malformed);
        const auto& found = *next;
        if (!found) return {};
        if (found->type != option::source_link_address && found->type != option::target_link_address) {
            out.insert(out.end(), found->bytes.begin(), found->bytes.end());
            continue;
        }
        const auto given = wire::NdLinkAddress<From>::parse(found->bytes);
        if (!given || !neighbour::is_host(given->address)) return std::unexpected(malformed);
        const std::expected<To, Untranslated> address =
            translate(given->address, is_senders(message_type, found->type));
        if (!address) return std::unexpected(address.error());
        using Option = wire::NdLinkAddress<To>;
        out.resize(out.size() + Option::size);
        Option{found->type, *address}.emit(std::span(out).template last<Option::size>());
    }
}

template <class From, class To, class Translate>
std::expected<Packet, Untranslated> rewrite_discovery(Bytes packet, Untranslated malformed, Translate translate) {
    const auto ip = wire::Ipv6::parse(packet);
    if (!ip || !is_discovery(packet)) return std::unexpected(malformed);
    const auto icmp = packet.subspan(wire::Ipv6::size, ip->payload_length);
    if (icmp.empty() || !neighbour::genuine_discovery(*ip, icmp)) return std::unexpected(malformed);
    const auto type = wire::load8(icmp, 0);
    const auto fixed = fixed_part(type);
    if (icmp.size() < fixed) return std::unexpected(malformed);
    Packet out(wire::Ipv6::size);
    out.insert(out.end(), icmp.begin(), icmp.begin() + static_cast<std::ptrdiff_t>(fixed));
    if (const auto done = copy_options<From, To>(icmp.subspan(fixed), type, malformed, translate, out); !done)
        return std::unexpected(done.error());
    if (out.size() - wire::Ipv6::size > UINT16_MAX) return std::unexpected(malformed);
    neighbour::finish_discovery(out, ip->source, ip->destination);
    return out;
}

std::expected<IpoibAddress, Untranslated> to_link(MacAddress mac, bool senders, const OwnAddresses& own,
                                                  const ProxyAddresses& hosts) {
    if (mac == own.mac) return own.link;
    if (senders) return std::unexpected(tx_dropped_other_mac);
    const auto host = hosts.find(mac);
    if (!host) return std::unexpected(tx_dropped_named_unknown);
    return *host;
}

bool is_own(const IpoibAddress& address, const OwnAddresses& own) {
    return ProxyAddresses::plain(address) == ProxyAddresses::plain(own.link);
}

std::expected<MacAddress, Untranslated> from_link(const IpoibAddress& address, bool senders, const OwnAddresses& own,
                                                  ProxyAddresses& hosts, FromLink& result) {
    if (is_own(address, own)) {
        if (senders) return std::unexpected(rx_dropped_own_address);
        return own.mac;
    }
    const auto proxy = hosts.of(address);
    result.named = ProxyAddresses::plain(address);
    if (proxy.forgotten) result.forgotten.push_back(*proxy.forgotten);
    return proxy.mac;
}

template <class Arp>
Packet bytes_of(const Arp& arp) {
    Packet out(Arp::size);
    arp.emit(std::span(out).template first<Arp::size>());
    return out;
}

}  // namespace

bool is_discovery(Bytes packet) noexcept {
    constexpr std::size_t next_header_at = 6;
    if (packet.size() <= wire::Ipv6::size) return false;
    if (wire::load8(packet, next_header_at) != static_cast<std::uint8_t>(wire::IpProtocol::icmpv6)) return false;
    const auto type = wire::load8(packet, wire::Ipv6::size);
    return type >= message::router_solicitation && type <= message::redirect;
}

std::expected<Packet, Untranslated> arp_to_link(Bytes packet, const OwnAddresses& own, const ProxyAddresses& hosts) {
    const auto arp = wire::EthernetArp::parse(packet);
    if (!arp) return std::unexpected(tx_dropped_arp_malformed);
    const auto sender = to_link(arp->sender_link, true, own, hosts);
    if (!sender) return std::unexpected(sender.error());
    IpoibAddress target{};
    // In a request the target is not known yet: most write zero, some broadcast.
    if (arp->target_link != MacAddress{} && arp->target_link != wire::broadcast_mac) {
        const auto known = to_link(arp->target_link, false, own, hosts);
        if (!known) return std::unexpected(known.error());
        target = *known;
    }
    return bytes_of(wire::IpoibArp{.operation = arp->operation,
                                   .sender_link = *sender,
                                   .sender = arp->sender,
                                   .target_link = target,
                                   .target = arp->target});
}

std::expected<FromLink, Untranslated> arp_from_link(Bytes packet, const OwnAddresses& own, ProxyAddresses& hosts) {
    const auto arp = wire::IpoibArp::parse(packet);
    if (!arp || !neighbour::is_host(arp->sender_link)) return std::unexpected(rx_dropped_arp_malformed);
    FromLink result;
    const auto sender = from_link(arp->sender_link, true, own, hosts, result);
    if (!sender) return std::unexpected(sender.error());
    // Of no other host: it may be one that has not been heard of, and the program does not look at it.
    const auto target = is_own(arp->target_link, own) ? own.mac : MacAddress{};
    result.packet = bytes_of(wire::EthernetArp{.operation = arp->operation,
                                               .sender_link = *sender,
                                               .sender = arp->sender,
                                               .target_link = target,
                                               .target = arp->target});
    return result;
}

std::expected<Packet, Untranslated> discovery_to_link(Bytes packet, const OwnAddresses& own,
                                                      const ProxyAddresses& hosts) {
    return rewrite_discovery<MacAddress, IpoibAddress>(
        packet, tx_dropped_nd_malformed,
        [&](MacAddress mac, bool senders) { return to_link(mac, senders, own, hosts); });
}

std::expected<FromLink, Untranslated> discovery_from_link(Bytes packet, const OwnAddresses& own,
                                                          ProxyAddresses& hosts) {
    FromLink result;
    auto rewritten = rewrite_discovery<IpoibAddress, MacAddress>(
        packet, rx_dropped_nd_malformed,
        [&](const IpoibAddress& address, bool senders) { return from_link(address, senders, own, hosts, result); });
    if (!rewritten) return std::unexpected(rewritten.error());
    result.packet = std::move(*rewritten);
    return result;
}

}  // namespace verbline::net_ipoib

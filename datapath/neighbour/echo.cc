// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/echo.h"

#include <utility>

#include "datapath/link/ip_gid.h"
#include "datapath/neighbour/message.h"
#include "datapath/wire/checksum.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/icmp.h"
#include "datapath/wire/icmpv6.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"

namespace verbline::neighbour {
namespace {

using wire::View;

constexpr std::uint8_t hop_limit = 64;

template <auto a, auto b, class Header>
void exchange(const View<Header, std::byte>& header) {
    const auto first = header.template get<a>();
    header.template set<a>(header.template get<b>());
    header.template set<b>(first);
}

/// Type and code are one word under the checksum.
template <class Header>
void set_type(const View<Header, std::byte>& header, std::uint8_t type) {
    const auto word = [&] {
        return static_cast<std::uint16_t>(header.template get<&Header::type>() << 8 |
                                          header.template get<&Header::code>());
    };
    const auto before = word();
    header.template set<&Header::type>(type);
    header.template set<&Header::checksum>(
        wire::updated_checksum(header.template get<&Header::checksum>(), before, word()));
}

std::optional<wire::Gid> ipv4_target(wire::Bytes packet) {
    const auto view = View<wire::Ipv4>::over(packet);
    if (!view) return std::nullopt;
    const auto ip = view->value();
    if (!ip || ip->header_size() < wire::Ipv4::size || ip->is_fragment() || ip->protocol != wire::IpProtocol::icmp ||
        packet.size() < ip->header_size() + wire::Icmp::size ||
        ip->total_length < ip->header_size() + wire::Icmp::size ||
        !wire::Ipv4::checksum_ok(packet.first(ip->header_size()))) {
        return std::nullopt;
    }
    const auto icmp = wire::Icmp::parse(packet.subspan(ip->header_size()));
    if (icmp->type != wire::icmp_type::echo || icmp->code != 0 || !is_host(link::gid_of(ip->source))) {
        return std::nullopt;
    }
    return link::gid_of(ip->destination);
}

std::optional<wire::Gid> ipv6_target(wire::Bytes packet) {
    const auto view = View<wire::Ipv6>::over(packet);
    if (!view) return std::nullopt;
    const auto ip = view->value();
    if (!ip || ip->next_header != wire::IpProtocol::icmpv6 || ip->payload_length < wire::Icmpv6::size) {
        return std::nullopt;
    }
    const auto icmp = wire::Icmpv6::parse(packet.subspan(wire::Ipv6::size));
    if (!icmp || icmp->type != wire::icmpv6_type::echo || icmp->code != 0 || !is_host(link::gid_of(ip->source))) {
        return std::nullopt;
    }
    return link::gid_of(ip->destination);
}

void reply_ipv4(wire::MutableBytes packet) {
    const auto ip = *View<wire::Ipv4, std::byte>::over(packet);
    const auto header = packet.first(std::size_t{ip.get<&wire::Ipv4::header_words>()} * 4);
    exchange<&wire::Ipv4::source, &wire::Ipv4::destination>(ip);
    ip.set<&wire::Ipv4::time_to_live>(hop_limit);
    ip.set<&wire::Ipv4::checksum>(0);
    ip.set<&wire::Ipv4::checksum>(wire::InternetChecksum().add(header).value());
    set_type(*View<wire::Icmp, std::byte>::over(packet.subspan(header.size())), wire::icmp_type::echo_reply);
}

void reply_ipv6(wire::MutableBytes packet) {
    const auto ip = *View<wire::Ipv6, std::byte>::over(packet);
    exchange<&wire::Ipv6::source, &wire::Ipv6::destination>(ip);
    ip.set<&wire::Ipv6::hop_limit>(hop_limit);
    set_type(*View<wire::Icmpv6, std::byte>::over(packet.subspan(wire::Ipv6::size)), wire::icmpv6_type::echo_reply);
}

}  // namespace

std::optional<wire::Gid> echo_target(wire::Bytes frame, const wire::MacAddress& own) {
    const auto ethernet = wire::Ethernet::parse(frame);
    if (!ethernet || !is_host(ethernet->source) || ethernet->destination != own) return std::nullopt;
    const auto packet = frame.subspan(wire::Ethernet::size);
    if (ethernet->type == wire::ether_type::ipv4) return ipv4_target(packet);
    if (ethernet->type == wire::ether_type::ipv6) return ipv6_target(packet);
    return std::nullopt;
}

void make_echo_reply(wire::MutableBytes frame, const wire::MacAddress& own) {
    const auto ethernet = *View<wire::Ethernet, std::byte>::over(frame);
    ethernet.set<&wire::Ethernet::destination>(ethernet.get<&wire::Ethernet::source>());
    ethernet.set<&wire::Ethernet::source>(own);
    const auto packet = frame.subspan(wire::Ethernet::size);
    ethernet.get<&wire::Ethernet::type>() == wire::ether_type::ipv4 ? reply_ipv4(packet) : reply_ipv6(packet);
}

}  // namespace verbline::neighbour

// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/bridge/source_guard.h"

#include <algorithm>
#include <cstring>
#include <ranges>

#include "datapath/wire/arp.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/grh.h"
#include "datapath/wire/icmpv6.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"

namespace verbline::pmd {
namespace {

using Verdict = SourceGuard::Verdict;

constexpr wire::EtherType service_vlan{0x88a8};  // IEEE 802.1Q, table 9-1
constexpr unsigned max_tags = 2;
constexpr std::size_t ipv4_source_at = 12, gid_source_at = 8, gid_size = 16, ipv4_in_gid = 12;
/// Extension headers that may stand before Neighbour Discovery (RFC 8200, 4). Not a fragment's: fragmented Neighbour
/// Discovery is ignored by its receivers (RFC 6980, 5).
constexpr std::uint8_t hop_by_hop = 0, routing = 43, destination_options = 60, icmpv6 = 58;
constexpr unsigned max_extensions = 8;

/// A mapped IPv4 address as a number, 0 if it is none.
std::uint32_t mapped(const wire::Gid& gid) {
    constexpr std::size_t zeros = 10;
    const bool is =
        std::ranges::all_of(gid.bytes | std::views::take(zeros), [](std::byte b) { return b == std::byte{0}; });
    return is && wire::load16(gid.bytes, zeros) == 0xffff ? wire::load32(gid.bytes, ipv4_in_gid) : 0;
}

}  // namespace

SourceGuard::SourceGuard(wire::MacAddress mac, const std::vector<wire::Gid>& addresses) : mac_(mac), gids_(addresses) {
    for (const auto& address : addresses) {
        if (const auto ipv4 = mapped(address); ipv4 != 0) ipv4_.push_back(ipv4);
    }
    if (!ipv4_.empty()) first_ipv4_ = ipv4_.front();
}

Verdict SourceGuard::check(const rte_mbuf& frame) const noexcept {
    const wire::Bytes bytes{rte_pktmbuf_mtod(&frame, const std::byte*), frame.data_len};
    std::size_t at = wire::Ethernet::size;
    wire::EtherType type{wire::load16(bytes, at - 2)};
    for (unsigned tags = 0; type == wire::ether_type::vlan || type == service_vlan; ++tags) {
        if (tags == max_tags || bytes.size() < at + wire::Vlan::size) return Verdict::foreign_ip;
        at += wire::Vlan::size;
        type = wire::EtherType{wire::load16(bytes, at - 2)};
    }
    const auto packet = bytes.subspan(at);
    if (type == wire::ether_type::ipv4) return check_ipv4(packet);
    if (type == wire::ether_type::ipv6) return check_ipv6(packet);
    if (type == wire::ether_type::arp) return check_arp(packet);
    if (type == wire::ether_type::roce_v1) return check_roce_v1(packet);
    return Verdict::passes;
}

bool SourceGuard::owns(std::uint32_t ipv4) const noexcept {
    return ipv4 == 0 || std::ranges::find(ipv4_, ipv4) != ipv4_.end();
}

bool SourceGuard::owns(wire::Bytes gid) const noexcept {
    const auto same = [&](const wire::Gid& own) { return std::memcmp(own.bytes.data(), gid.data(), gid_size) == 0; };
    return std::ranges::any_of(gids_, same) || same(wire::Gid{});
}

Verdict SourceGuard::check_ipv4(wire::Bytes packet) const noexcept {
    const bool own = packet.size() >= wire::Ipv4::size && owns(wire::load32(packet, ipv4_source_at));
    return own ? Verdict::passes : Verdict::foreign_ip;
}

Verdict SourceGuard::check_ipv6(wire::Bytes packet) const noexcept {
    if (packet.size() < wire::Ipv6::size || !owns(packet.subspan(gid_source_at, gid_size))) return Verdict::foreign_ip;
    const auto next_header = wire::load8(packet, 6);
    const std::size_t length = wire::load16(packet, 4);
    const auto payload = packet.subspan(wire::Ipv6::size);
    // The length field may exceed the packet; only the header is used.
    return check_upper(next_header, payload.first(std::min(length, payload.size())));
}

/// The source address of a GRH is at the same offset as in IPv6 (IBTA 8.3, annex A16).
Verdict SourceGuard::check_roce_v1(wire::Bytes packet) const noexcept {
    const bool own = packet.size() >= wire::Grh::size && owns(packet.subspan(gid_source_at, gid_size));
    return own ? Verdict::passes : Verdict::foreign_ip;
}

Verdict SourceGuard::check_arp(wire::Bytes packet) const noexcept {
    const auto arp = wire::EthernetArp::parse(packet);
    const bool own = arp && arp->sender_link == mac_ && owns(static_cast<std::uint32_t>(arp->sender));
    return own ? Verdict::passes : Verdict::foreign_arp;
}

Verdict SourceGuard::check_upper(std::uint8_t next_header, wire::Bytes packet) const noexcept {
    for (unsigned i = 0; next_header == hop_by_hop || next_header == routing || next_header == destination_options;
         ++i) {
        const auto size = packet.size() < 2 ? 0 : (wire::load8(packet, 1) + std::size_t{1}) * 8;
        if (i == max_extensions || size == 0 || size > packet.size()) return Verdict::foreign_nd;  // RFC 7113, 3
        next_header = wire::load8(packet, 0);
        packet = packet.subspan(size);
    }
    return next_header == icmpv6 ? check_icmpv6(packet) : Verdict::passes;
}

Verdict SourceGuard::check_icmpv6(wire::Bytes message) const noexcept {
    namespace type = wire::icmpv6_type;
    if (message.empty()) return Verdict::foreign_nd;
    const auto kind = wire::load8(message, 0);
    if (kind < type::router_solicitation || kind > type::redirect) return Verdict::passes;
    if (kind == type::router_advertisement || kind == type::redirect) return Verdict::foreign_nd;
    const auto head = kind == type::router_solicitation ? wire::Icmpv6::size : wire::NeighbourMessage::size;
    constexpr std::size_t target_at = 8;
    const bool own = message.size() >= head &&
                     (kind != type::neighbour_advertisement || owns(message.subspan(target_at, gid_size))) &&
                     own_link_options(message.subspan(head));
    return own ? Verdict::passes : Verdict::foreign_nd;
}

bool SourceGuard::own_link_options(wire::Bytes options) const noexcept {
    wire::NdOptions rest(options);
    for (;;) {
        const auto option = rest.next();
        if (!option) return false;
        if (!*option) return true;
        const auto kind = (*option)->type;
        if (kind != wire::nd_option::source_link_address && kind != wire::nd_option::target_link_address) continue;
        const auto address = wire::NdLinkAddress<wire::MacAddress>::parse((*option)->bytes);
        if (!address || address->address != mac_) return false;
    }
}

}  // namespace verbline::pmd

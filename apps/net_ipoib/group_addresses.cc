// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/group_addresses.h"

#include <algorithm>

#include "datapath/link/envelope.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"

namespace verbline::net_ipoib {
namespace {

constexpr std::uint64_t all_nodes_prefix = 0xff02'0000'0000'0000;

std::vector<wire::Gid> ipv6_groups(std::uint32_t low) {
    constexpr std::uint32_t solicited_node = 0xff00'0000;  // ff02::1:ffxx:xxxx (RFC 4291, 2.7.1)
    const std::uint64_t high = (low & solicited_node) == solicited_node ? std::uint64_t{1} << 32 : 0;
    return {wire::Gid::of(all_nodes_prefix, wire::Guid{high | low})};
}

std::vector<wire::Gid> ipv4_groups(std::uint32_t low) {
    constexpr std::uint32_t class_d = 0xe000'0000, local = 0xff;
    if (low <= local) return {link::gid_of(wire::Ipv4Address{class_d | low})};
    std::vector<wire::Gid> groups;
    for (std::uint32_t lost = 0; lost < 32; ++lost)
        groups.push_back(link::gid_of(wire::Ipv4Address{class_d | lost << 23 | low}));
    return groups;
}

}  // namespace

wire::MacAddress group_mac(const wire::Gid& group) {
    const auto carrier = link::ipv4_of(group) ? link::Carrier::roce_v2_ipv4 : link::Carrier::roce_v2_ipv6;
    return link::multicast_mac(carrier, group);  // of any IP packet
}

std::optional<wire::Gid> group_of_packet(wire::Bytes packet, wire::EtherType type) {
    if (type == wire::ether_type::ipv4) {
        if (packet.size() < wire::Ipv4::size) return std::nullopt;
        const wire::Ipv4Address to{wire::load32(packet, 16)};
        return wire::is_multicast(to) ? std::optional(link::gid_of(to)) : std::nullopt;
    }
    if (type != wire::ether_type::ipv6 || packet.size() < wire::Ipv6::size) return std::nullopt;
    wire::Ipv6Address to;
    std::ranges::copy(packet.subspan(24, to.bytes.size()), to.bytes.begin());
    return wire::is_multicast(to) ? std::optional(link::gid_of(to)) : std::nullopt;
}

std::vector<wire::Gid> groups_of(wire::MacAddress mac) {
    const wire::Bytes bytes(mac.bytes);
    const auto low = wire::load32(bytes, 2);
    if (wire::load16(bytes, 0) == 0x3333) return ipv6_groups(low);
    const bool ipv4 = wire::load16(bytes, 0) == 0x0100 && (low & 0xff80'0000) == 0x5e00'0000;
    return ipv4 ? ipv4_groups(low & 0x7f'ffff) : std::vector<wire::Gid>{};
}

}  // namespace verbline::net_ipoib

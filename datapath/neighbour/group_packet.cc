// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/group_packet.h"

#include <span>

#include "datapath/link/envelope.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/append.h"
#include "datapath/wire/checksum.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"

namespace verbline::neighbour {
namespace {

using wire::Bytes, wire::IpProtocol;

constexpr std::uint8_t internetwork_control = 48;  ///< DSCP (RFC 2474): reports get through where links are full

/// Routers look at such a packet though it is not for them (RFC 2113; RFC 2711, in a hop-by-hop header with padding).
constexpr std::size_t ipv4_alert_size = 4, ipv6_alert_size = 8;
constexpr std::uint32_t ipv4_alert = 0x9404'0000;
constexpr std::uint64_t ipv6_alert = 0x3a00'0502'0000'0100;

std::optional<GroupPayload> open_igmp(const wire::Ipv4& ip, Bytes packet) {
    if (ip.protocol != IpProtocol::igmp || ip.is_fragment() || ip.time_to_live != 1) return std::nullopt;
    const auto message = packet.first(ip.total_length).subspan(ip.header_size());
    if (wire::InternetChecksum().add(message).value() != 0) return std::nullopt;
    return GroupPayload{true, link::gid_of(ip.source), link::gid_of(ip.destination), message};
}

std::optional<GroupPayload> open_mld(const wire::Ipv6& ip, Bytes packet) {
    if (ip.next_header != IpProtocol::hop_by_hop || ip.hop_limit != 1) return std::nullopt;
    const auto rest = packet.subspan(wire::Ipv6::size, ip.payload_length);
    if (rest.size() < 8) return std::nullopt;
    const std::size_t options = (std::size_t{wire::load8(rest, 1)} + 1) * 8;
    if (wire::load8(rest, 0) != static_cast<std::uint8_t>(IpProtocol::icmpv6) || rest.size() < options)
        return std::nullopt;
    const auto message = rest.subspan(options);
    wire::InternetChecksum sum;
    sum.add_pseudo_header(ip.source, ip.destination, static_cast<std::uint8_t>(IpProtocol::icmpv6), message.size());
    if (sum.add(message).value() != 0) return std::nullopt;
    return GroupPayload{false, link::gid_of(ip.source), link::gid_of(ip.destination), message};
}

}  // namespace

GroupPacket igmp_packet(std::vector<std::byte> message, wire::Ipv4Address to, wire::Ipv4Address from) {
    wire::store16(message, 2, wire::InternetChecksum().add(message).value());
    const wire::Ipv4 ip{.header_words = (wire::Ipv4::size + ipv4_alert_size) / 4,
                        .dscp = internetwork_control,
                        .total_length = static_cast<std::uint16_t>(wire::Ipv4::size + ipv4_alert_size + message.size()),
                        .dont_fragment = true,
                        .time_to_live = 1,
                        .protocol = IpProtocol::igmp,
                        .source = from,
                        .destination = to};
    GroupPacket packet{link::multicast_mac(link::Carrier::roce_v2_ipv4, link::gid_of(to)), wire::ether_type::ipv4, {}};
    append(packet.bytes, ip);
    packet.bytes.resize(wire::Ipv4::size + ipv4_alert_size);
    wire::store32(packet.bytes, wire::Ipv4::size, ipv4_alert);
    wire::store16(packet.bytes, 10, wire::InternetChecksum().add(packet.bytes).value());
    packet.bytes.insert(packet.bytes.end(), message.begin(), message.end());
    return packet;
}

GroupPacket mld_packet(std::vector<std::byte> message, const wire::Ipv6Address& to, const wire::Ipv6Address& from) {
    const auto protocol = static_cast<std::uint8_t>(IpProtocol::icmpv6);
    wire::InternetChecksum sum;
    sum.add_pseudo_header(from, to, protocol, message.size());
    wire::store16(message, 2, sum.add(message).value());
    GroupPacket packet{link::multicast_mac(link::Carrier::roce_v2_ipv6, link::gid_of(to)), wire::ether_type::ipv6, {}};
    append(packet.bytes, wire::Ipv6{.payload_length = static_cast<std::uint16_t>(ipv6_alert_size + message.size()),
                                    .next_header = IpProtocol::hop_by_hop,
                                    .hop_limit = 1,
                                    .source = from,
                                    .destination = to});
    packet.bytes.resize(wire::Ipv6::size + ipv6_alert_size);
    wire::store64(packet.bytes, wire::Ipv6::size, ipv6_alert);
    packet.bytes.insert(packet.bytes.end(), message.begin(), message.end());
    return packet;
}

std::optional<GroupPayload> open_group_packet(Bytes packet) {
    if (const auto ip = wire::Ipv4::parse(packet)) return open_igmp(*ip, packet);
    if (const auto ip = wire::Ipv6::parse(packet)) return open_mld(*ip, packet);
    return std::nullopt;
}

}  // namespace verbline::neighbour

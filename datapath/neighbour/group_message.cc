// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/group_message.h"

#include <algorithm>
#include <array>

#include "datapath/link/envelope.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/checksum.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/mld.h"

namespace verbline::neighbour {
namespace {

using wire::Bytes, wire::IpProtocol;

constexpr std::uint8_t internetwork_control = 48;  ///< DSCP (RFC 2474): reports get through where links are full
constexpr auto all_routers = wire::ipv4(224, 0, 0, 2), all_igmp_routers = wire::ipv4(224, 0, 0, 22);

/// Routers look at such a packet though it is not for them (RFC 2113; RFC 2711, in a hop-by-hop header with padding).
constexpr std::size_t ipv4_alert_size = 4, ipv6_alert_size = 8;
constexpr std::uint32_t ipv4_alert = 0x9404'0000;
constexpr std::uint64_t ipv6_alert = 0x3a00'0502'0000'0100;

wire::Ipv6Address link_scope(std::uint8_t last) {
    wire::Ipv6Address address;
    address.bytes[0] = std::byte{0xff};
    address.bytes[1] = std::byte{0x02};
    address.bytes[15] = std::byte{last};
    return address;
}

template <class Header>
void append(std::vector<std::byte>& out, const Header& header) {
    out.resize(out.size() + Header::size);
    header.emit(std::span(out).template last<Header::size>());
}

GroupPacket ipv4_packet(std::vector<std::byte> message, wire::Ipv4Address to, const ReportSource& from) {
    wire::store16(message, 2, wire::InternetChecksum().add(message).value());
    const wire::Ipv4 ip{.header_words = (wire::Ipv4::size + ipv4_alert_size) / 4,
                        .dscp = internetwork_control,
                        .total_length = static_cast<std::uint16_t>(wire::Ipv4::size + ipv4_alert_size + message.size()),
                        .dont_fragment = true,
                        .time_to_live = 1,
                        .protocol = IpProtocol::igmp,
                        .source = from.ipv4,
                        .destination = to};
    GroupPacket packet{link::multicast_mac(link::Carrier::roce_v2_ipv4, link::gid_of(to)), wire::ether_type::ipv4, {}};
    append(packet.bytes, ip);
    packet.bytes.resize(wire::Ipv4::size + ipv4_alert_size);
    wire::store32(packet.bytes, wire::Ipv4::size, ipv4_alert);
    wire::store16(packet.bytes, 10, wire::InternetChecksum().add(packet.bytes).value());
    packet.bytes.insert(packet.bytes.end(), message.begin(), message.end());
    return packet;
}

GroupPacket ipv6_packet(std::vector<std::byte> message, const wire::Ipv6Address& to, const ReportSource& from) {
    const auto protocol = static_cast<std::uint8_t>(IpProtocol::icmpv6);
    wire::InternetChecksum sum;
    sum.add_pseudo_header(from.link_local, to, protocol, message.size());
    wire::store16(message, 2, sum.add(message).value());
    GroupPacket packet{link::multicast_mac(link::Carrier::roce_v2_ipv6, link::gid_of(to)), wire::ether_type::ipv6, {}};
    append(packet.bytes, wire::Ipv6{.payload_length = static_cast<std::uint16_t>(ipv6_alert_size + message.size()),
                                    .next_header = IpProtocol::hop_by_hop,
                                    .hop_limit = 1,
                                    .source = from.link_local,
                                    .destination = to});
    packet.bytes.resize(wire::Ipv6::size + ipv6_alert_size);
    wire::store64(packet.bytes, wire::Ipv6::size, ipv6_alert);
    packet.bytes.insert(packet.bytes.end(), message.begin(), message.end());
    return packet;
}

/// Times beyond the field's half are a mantissa and an exponent (RFC 3376, 4.1.1; RFC 3810, 5.1.3).
constexpr Time decoded(unsigned code, unsigned mantissa_bits) {
    const unsigned linear = 8u << mantissa_bits;
    if (code < linear) return code;
    const unsigned mantissa = code & ((1u << mantissa_bits) - 1), exponent = code >> mantissa_bits & 7;
    return Time{mantissa | 1u << mantissa_bits} << (exponent + 3);
}

std::optional<GroupMessage> parse_igmp(Bytes message) {
    const auto igmp = wire::Igmp::parse(message);
    if (!igmp || wire::InternetChecksum().add(message).value() != 0) return std::nullopt;
    GroupMessage result{.ipv4 = true};
    if (igmp->group != wire::Ipv4Address{}) result.group = link::gid_of(igmp->group);
    if (igmp->type == wire::igmp_type::report_v1 || igmp->type == wire::igmp_type::report_v2) return result;
    if (igmp->type != wire::igmp_type::query) return std::nullopt;
    result.query = true;
    const bool newer = message.size() >= wire::Igmp::query_v3_size;
    result.version = newer ? GroupProtocol::newer : GroupProtocol::older;
    // Version 1 gives no time: ten seconds (RFC 2236, 4).
    const Time tenths = newer ? decoded(igmp->max_response, 4) : igmp->max_response != 0 ? igmp->max_response : 100;
    result.response_time = tenths * 100 * millisecond;
    return result;
}

std::optional<GroupMessage> parse_mld(const wire::Ipv6& ip, Bytes message) {
    const auto mld = wire::Mld::parse(message);
    wire::InternetChecksum sum;
    sum.add_pseudo_header(ip.source, ip.destination, static_cast<std::uint8_t>(IpProtocol::icmpv6), message.size());
    if (!mld || sum.add(message).value() != 0) return std::nullopt;
    GroupMessage result{.group = link::gid_of(mld->group)};
    if (mld->type == wire::mld_type::report_v1) return result;
    if (mld->type != wire::mld_type::query) return std::nullopt;
    result.query = true;
    const bool newer = message.size() >= wire::Mld::query_v2_size;
    result.version = newer ? GroupProtocol::newer : GroupProtocol::older;
    result.response_time = (newer ? decoded(mld->max_response, 12) : Time{mld->max_response}) * millisecond;
    return result;
}

}  // namespace

GroupPacket report_packet(std::span<const GroupRecord> records, const ReportSource& from) {
    const auto count = static_cast<std::uint16_t>(records.size());
    std::vector<std::byte> message;
    if (link::ipv4_of(records.front().group)) {
        append(message, wire::IgmpReport{.records = count});
        for (const auto& record : records)
            append(message, wire::IgmpRecord{.type = record.type, .group = *link::ipv4_of(record.group)});
        return ipv4_packet(std::move(message), all_igmp_routers, from);
    }
    append(message, wire::MldReport{.records = count});
    for (const auto& record : records)
        append(message, wire::MldRecord{.type = record.type, .group = wire::Ipv6Address{record.group.bytes}});
    return ipv6_packet(std::move(message), link_scope(0x16), from);
}

GroupPacket older_packet(const wire::Gid& group, bool leave, const ReportSource& from) {
    std::vector<std::byte> message;
    if (const auto ipv4 = link::ipv4_of(group)) {
        append(message,
               wire::Igmp{.type = leave ? wire::igmp_type::leave : wire::igmp_type::report_v2, .group = *ipv4});
        return ipv4_packet(std::move(message), leave ? all_routers : *ipv4, from);
    }
    const wire::Ipv6Address ipv6{group.bytes};
    append(message, wire::Mld{.type = leave ? wire::mld_type::done : wire::mld_type::report_v1, .group = ipv6});
    return ipv6_packet(std::move(message), leave ? link_scope(2) : ipv6, from);
}

std::optional<GroupMessage> parse_group_message(Bytes packet) {
    if (const auto ip = wire::Ipv4::parse(packet)) {
        if (ip->protocol != IpProtocol::igmp || ip->is_fragment() || ip->time_to_live != 1) return std::nullopt;
        return parse_igmp(packet.first(ip->total_length).subspan(ip->header_size()));
    }
    const auto ip = wire::Ipv6::parse(packet);
    // MLD without the alert of a hop-by-hop header is to be ignored, as is what does not come from this link (RFC 3810,
    // 6.2).
    if (!ip || ip->next_header != IpProtocol::hop_by_hop || ip->hop_limit != 1) return std::nullopt;
    auto rest = packet.subspan(wire::Ipv6::size, ip->payload_length);
    if (rest.size() < 8) return std::nullopt;
    const std::size_t options = (std::size_t{wire::load8(rest, 1)} + 1) * 8;
    if (wire::load8(rest, 0) != static_cast<std::uint8_t>(IpProtocol::icmpv6) || rest.size() < options)
        return std::nullopt;
    return parse_mld(*ip, rest.subspan(options));
}

}  // namespace verbline::neighbour

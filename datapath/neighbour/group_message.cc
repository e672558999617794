// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/group_message.h"

#include <utility>

#include "datapath/link/ip_gid.h"
#include "datapath/wire/append.h"
#include "datapath/wire/mld.h"

namespace verbline::neighbour {
namespace {

using wire::Bytes;

std::optional<GroupMessage> parse_igmp(Bytes message) {
    const auto igmp = wire::Igmp::parse(message);
    if (!igmp) return std::nullopt;
    GroupMessage result{.ipv4 = true};
    if (igmp->group != wire::Ipv4Address{}) result.group = link::gid_of(igmp->group);
    if (igmp->type == wire::igmp_type::report_v1 || igmp->type == wire::igmp_type::report_v2) return result;
    if (igmp->type != wire::igmp_type::query) return std::nullopt;
    result.query = true;
    const bool newer = message.size() >= wire::Igmp::query_v3_size;
    result.version = newer ? GroupProtocol::newer : GroupProtocol::older;
    // Version 1 gives no time: ten seconds (RFC 2236, 4).
    const Time tenths = newer                     ? decoded_time(igmp->max_response, short_time)
                        : igmp->max_response != 0 ? igmp->max_response
                                                  : 100;
    result.response_time = tenths * 100 * millisecond;
    return result;
}

std::optional<GroupMessage> parse_mld(Bytes message) {
    const auto mld = wire::Mld::parse(message);
    if (!mld) return std::nullopt;
    GroupMessage result{.group = link::gid_of(mld->group)};
    if (mld->type == wire::mld_type::report_v1) return result;
    if (mld->type != wire::mld_type::query) return std::nullopt;
    result.query = true;
    const bool newer = message.size() >= wire::Mld::query_v2_size;
    result.version = newer ? GroupProtocol::newer : GroupProtocol::older;
    result.response_time = (newer ? decoded_time(mld->max_response, long_time) : Time{mld->max_response}) * millisecond;
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
        return igmp_packet(std::move(message), all_igmp_routers, from.ipv4);
    }
    append(message, wire::MldReport{.records = count});
    for (const auto& record : records)
        append(message, wire::MldRecord{.type = record.type, .group = wire::Ipv6Address{record.group.bytes}});
    return mld_packet(std::move(message), all_mld_routers, from.link_local);
}

GroupPacket older_packet(const wire::Gid& group, bool leave, const ReportSource& from) {
    std::vector<std::byte> message;
    if (const auto ipv4 = link::ipv4_of(group)) {
        append(message,
               wire::Igmp{.type = leave ? wire::igmp_type::leave : wire::igmp_type::report_v2, .group = *ipv4});
        return igmp_packet(std::move(message), leave ? all_ipv4_routers : *ipv4, from.ipv4);
    }
    const wire::Ipv6Address ipv6{group.bytes};
    append(message, wire::Mld{.type = leave ? wire::mld_type::done : wire::mld_type::report_v1, .group = ipv6});
    return mld_packet(std::move(message), leave ? all_ipv6_routers : ipv6, from.link_local);
}

std::optional<GroupMessage> parse_group_message(Bytes packet) {
    const auto payload = open_group_packet(packet);
    if (!payload) return std::nullopt;
    return payload->ipv4 ? parse_igmp(payload->message) : parse_mld(payload->message);
}

}  // namespace verbline::neighbour

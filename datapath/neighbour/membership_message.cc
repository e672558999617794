// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/membership_message.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "datapath/link/ip_gid.h"
#include "datapath/wire/append.h"
#include "datapath/wire/mld.h"

namespace verbline::neighbour {
namespace {

using wire::Bytes, wire::GroupRecordType;

/// The headers of each family, and what their fields are in.
struct IgmpForm {
    using Header = wire::Igmp;
    using Report = wire::IgmpReport;
    using Record = wire::IgmpRecord;
    static constexpr std::size_t address_size = 4, full_query_size = wire::Igmp::query_v3_size;
    static constexpr Time unit = 100 * millisecond;
    static constexpr unsigned mantissa = short_time;
    static constexpr std::uint8_t query = wire::igmp_type::query, report = wire::igmp_type::report_v3;
};
struct MldForm {
    using Header = wire::Mld;
    using Report = wire::MldReport;
    using Record = wire::MldRecord;
    static constexpr std::size_t address_size = 16, full_query_size = wire::Mld::query_v2_size;
    static constexpr Time unit = millisecond;
    static constexpr unsigned mantissa = long_time;
    static constexpr std::uint8_t query = wire::mld_type::query, report = wire::mld_type::report_v2;
};

/// Zero for no group.
wire::Gid group_gid(wire::Ipv4Address group) {
    return group == wire::Ipv4Address{} ? wire::Gid{} : link::gid_of(group);
}
wire::Gid group_gid(const wire::Ipv6Address& group) {
    return link::gid_of(group);
}

bool known(GroupRecordType type) {
    return type >= GroupRecordType::mode_is_include && type <= GroupRecordType::block_old_sources;
}

template <class Form>
std::optional<MembershipMessage> read_report(const wire::Gid& from, Bytes message) {
    using Record = typename Form::Record;
    const auto header = Form::Report::parse(message);
    if (!header) return std::nullopt;
    MembershipReport report{.from = from, .version = MembershipVersion::v3, .records = {}};
    auto rest = message.subspan(Form::Report::size);
    for (unsigned i = 0; i < header->records; ++i) {
        const auto record = Record::parse(rest);
        if (!record) return std::nullopt;
        const auto size =
            Record::size + record->sources * Form::address_size + record->auxiliary_words * std::size_t{4};
        if (size > rest.size()) return std::nullopt;
        rest = rest.subspan(size);
        const auto group = group_gid(record->group);
        if (known(record->type) && link::is_group(group)) {
            report.records.push_back({record->type, group, record->sources});
        }
    }
    return report;
}

template <class Form>
std::optional<MembershipMessage> read_query(const wire::Gid& from, const typename Form::Header& header, Bytes message) {
    MembershipQuery query{.from = from, .group = group_gid(header.group), .version = MembershipVersion::v2};
    if (query.group != wire::Gid{} && !link::is_group(query.group)) return std::nullopt;
    query.response_time = header.max_response * Form::unit;
    if (message.size() < Form::full_query_size) {
        if (message.size() != Form::Header::size) return std::nullopt;  // RFC 3376, 7.1: none of these versions
        if (Form::query == wire::igmp_type::query && header.max_response == 0) {
            query.version = MembershipVersion::v1;
            query.response_time = 10 * second;  // RFC 2236, 4
        }
        return query;
    }
    const auto tail = wire::GroupQueryTail::parse(message.subspan(Form::Header::size));
    if (!tail || message.size() < Form::full_query_size + tail->sources * Form::address_size) return std::nullopt;
    query.version = MembershipVersion::v3;
    query.response_time = decoded_time(header.max_response, Form::mantissa) * Form::unit;
    query.suppress = tail->suppress;
    query.robustness = tail->robustness;
    query.interval = decoded_time(tail->interval, short_time) * second;
    query.sources = tail->sources;
    return query;
}

MembershipMessage older(const wire::Gid& from, MembershipVersion version, const wire::Gid& group, bool leaves) {
    const auto type = leaves ? GroupRecordType::change_to_include : GroupRecordType::mode_is_exclude;
    return MembershipReport{.from = from, .version = version, .records = {{type, group, 0}}};
}

std::optional<MembershipMessage> read_igmp(const GroupPayload& payload) {
    const auto igmp = wire::Igmp::parse(payload.message);
    if (!igmp) return std::nullopt;
    const auto& from = payload.source;
    if (igmp->type == IgmpForm::report) return read_report<IgmpForm>(from, payload.message);
    if (igmp->type == IgmpForm::query) return read_query<IgmpForm>(from, *igmp, payload.message);
    if (!wire::is_multicast(igmp->group)) return std::nullopt;
    const auto group = link::gid_of(igmp->group);
    switch (igmp->type) {
        case wire::igmp_type::report_v1: return older(from, MembershipVersion::v1, group, false);
        case wire::igmp_type::report_v2: return older(from, MembershipVersion::v2, group, false);
        case wire::igmp_type::leave: return older(from, MembershipVersion::v2, group, true);
        default: return std::nullopt;
    }
}

std::optional<MembershipMessage> read_mld(const GroupPayload& payload) {
    if (payload.message.empty()) return std::nullopt;
    const auto type = wire::load8(payload.message, 0);
    const auto& from = payload.source;
    const bool unaddressed = from == wire::Gid{} && type == MldForm::report;
    if (!unaddressed && !wire::is_link_local(link::ipv6_of(from))) return std::nullopt;
    if (type == MldForm::report) return read_report<MldForm>(from, payload.message);
    const auto mld = wire::Mld::parse(payload.message);
    if (!mld) return std::nullopt;
    if (type == MldForm::query) return read_query<MldForm>(from, *mld, payload.message);
    const bool leaves = type == wire::mld_type::done;
    if ((!leaves && type != wire::mld_type::report_v1) || !wire::is_multicast(mld->group)) return std::nullopt;
    return older(from, MembershipVersion::v2, link::gid_of(mld->group), leaves);
}

/// The code of the longest time that is not above `units`.
unsigned encoded_time(Time units, unsigned mantissa_bits) {
    const auto linear = Time{8} << mantissa_bits;
    if (units < linear) return static_cast<unsigned>(std::max<Time>(units, 0));
    const auto bits = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(units)));
    const unsigned exponent = std::min(bits - mantissa_bits - 4, 7u);
    const auto most = (1u << (mantissa_bits + 1)) - 1;
    const auto mantissa = static_cast<unsigned>(std::min<Time>(units >> (exponent + 3), most));
    return static_cast<unsigned>(linear) | exponent << mantissa_bits | (mantissa & ((1u << mantissa_bits) - 1));
}

wire::GroupQueryTail tail_of(const MembershipQuery& query) {
    const auto robustness = query.robustness <= 7 ? query.robustness : 0;
    return {.suppress = query.suppress,
            .robustness = static_cast<std::uint8_t>(robustness),
            .interval = static_cast<std::uint8_t>(encoded_time(query.interval / second, short_time))};
}

}  // namespace

std::optional<MembershipMessage> read_membership(Bytes ip_packet) {
    const auto payload = open_group_packet(ip_packet);
    if (!payload) return std::nullopt;
    return payload->ipv4 ? read_igmp(*payload) : read_mld(*payload);
}

GroupPacket query_packet(const MembershipQuery& query) {
    std::vector<std::byte> message;
    if (const auto from = link::ipv4_of(query.from)) {
        const auto group = link::ipv4_of(query.group);
        const auto code = encoded_time(query.response_time / IgmpForm::unit, IgmpForm::mantissa);
        append(message, wire::Igmp{.type = IgmpForm::query,
                                   .max_response = static_cast<std::uint8_t>(code),
                                   .group = group.value_or(wire::Ipv4Address{})});
        append(message, tail_of(query));
        return igmp_packet(std::move(message), group.value_or(all_systems), *from);
    }
    const auto group = link::ipv6_of(query.group);
    const auto code = encoded_time(query.response_time / MldForm::unit, MldForm::mantissa);
    append(message,
           wire::Mld{.type = MldForm::query, .max_response = static_cast<std::uint16_t>(code), .group = group});
    append(message, tail_of(query));
    return mld_packet(std::move(message), group == wire::Ipv6Address{} ? all_ipv6_nodes : group,
                      link::ipv6_of(query.from));
}

}  // namespace verbline::neighbour

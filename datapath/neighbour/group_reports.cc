// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/group_reports.h"

#include <algorithm>
#include <utility>

#include "datapath/link/ip_gid.h"

namespace verbline::neighbour {
namespace {

using wire::GroupRecordType;

/// Groups that are never reported (RFC 3376, 6; RFC 3810, 6), and addresses that are no group.
bool unreported(const wire::Gid& group) {
    if (!link::is_group(group)) return true;
    if (const auto ipv4 = link::ipv4_of(group)) return *ipv4 == wire::ipv4(224, 0, 0, 1);
    const auto scope = std::to_integer<unsigned>(group.bytes[1]) & 0xf;
    constexpr unsigned interface_local = 1;
    wire::Gid all_nodes;
    all_nodes.bytes[0] = std::byte{0xff};
    all_nodes.bytes[1] = std::byte{0x02};
    all_nodes.bytes[15] = std::byte{0x01};
    return scope <= interface_local || group == all_nodes;
}

bool is_ipv4(const wire::Gid& group) {
    return link::ipv4_of(group).has_value();
}

}  // namespace

void GroupReports::set_source(const ReportSource& source, Time now) {
    source_ = source;
    for (auto& [gid, group] : groups_) {
        if (!group.in) continue;
        group.changes = timing_.robustness;
        group.next_change = now;
    }
}

GroupReports::Packets GroupReports::join(const wire::Gid& group, Time now) {
    if (unreported(group)) return {};
    if (groups_.size() >= timing_.most_groups && !groups_.contains(group)) {
        counters_.group_limit_hits.add();
        return {};
    }
    const auto [place, added] = groups_.try_emplace(group);
    if (!added && place->second.in) return {};
    place->second = {.changes = timing_.robustness, .next_change = now};
    return tick(now);
}

GroupReports::Packets GroupReports::leave(const wire::Gid& group, Time now) {
    const auto found = groups_.find(group);
    if (found == groups_.end() || !found->second.in) return {};
    found->second = {
        .in = false, .changes = timing_.robustness, .next_change = now, .reported_last = found->second.reported_last};
    return tick(now);
}

void GroupReports::received(wire::Bytes ip_packet, Time now) {
    const auto message = parse_group_message(ip_packet);
    if (!message) return;
    if (message->query) {
        counters_.rx_group_queries.add();
        return queried(*message, now);
    }
    const auto found = groups_.find(message->group);
    if (found == groups_.end() || version(message->group, now) != GroupProtocol::older) return;
    if (!found->second.in) return;
    counters_.rx_group_reports.add();
    found->second.answer.reset();
    found->second.changes = 0;
    found->second.reported_last = false;
}

void GroupReports::queried(const GroupMessage& query, Time now) {
    if (query.version == GroupProtocol::older) older_until_[query.ipv4 ? 0 : 1] = now + timing_.older_querier;
    const bool all = query.group == wire::Gid{};
    // In the newer version one report has room for all groups: they are answered together.
    const Time together = now + random_time(query.response_time);
    for (auto& [gid, group] : groups_) {
        if (!group.in || is_ipv4(gid) != query.ipv4 || (!all && gid != query.group)) continue;
        const bool newer = version(gid, now) == GroupProtocol::newer;
        const Time when = newer ? together : now + random_time(query.response_time);
        group.answer = std::min(group.answer.value_or(when), when);
    }
}

GroupReports::Packets GroupReports::tick(Time now) {
    Packets out;
    std::vector<GroupRecord> records;
    for (auto it = groups_.begin(); it != groups_.end();) {
        auto& [gid, group] = *it;
        if (!records.empty() && is_ipv4(records.front().group) != is_ipv4(gid)) pack(records, out);
        if (group.answer && *group.answer <= now) {
            group.answer.reset();
            group.reported_last = true;
            if (version(gid, now) == GroupProtocol::newer) {
                records.push_back({GroupRecordType::mode_is_exclude, gid});
            } else {
                out.push_back(older_packet(gid, false, source_));
                counters_.tx_group_reports.add();
            }
        }
        if (group.changes != 0 && group.next_change <= now) change(group, gid, records, out, now);
        if (records.size() + 1 >= most_records) pack(records, out);
        it = !group.in && group.changes == 0 ? groups_.erase(it) : std::next(it);
    }
    pack(records, out);
    return out;
}

/// Reports that the group was joined or left.
void GroupReports::change(Group& group, const wire::Gid& gid, std::vector<GroupRecord>& records, Packets& out,
                          Time now) {
    --group.changes;
    if (version(gid, now) == GroupProtocol::newer) {
        group.next_change = now + random_time(timing_.newer_interval);
        group.reported_last = group.in;
        records.push_back({group.in ? GroupRecordType::change_to_exclude : GroupRecordType::change_to_include, gid});
        return;
    }
    group.next_change = now + random_time(timing_.older_interval);
    if (group.in) {
        out.push_back(older_packet(gid, false, source_));
        counters_.tx_group_reports.add();
        group.reported_last = true;
        return;
    }
    // RFC 2236, 3: once, and only by the host that reported last.
    group.changes = 0;
    if (!group.reported_last) return;
    out.push_back(older_packet(gid, true, source_));
    counters_.tx_group_leaves.add();
}

void GroupReports::pack(std::vector<GroupRecord>& records, Packets& out) {
    if (records.empty()) return;
    out.push_back(report_packet(records, source_));
    counters_.tx_group_reports.add();
    records.clear();
}

std::optional<Time> GroupReports::deadline() const {
    std::optional<Time> first;
    for (const auto& [gid, group] : groups_) {
        const auto when = due(group);
        if (when && (!first || *when < *first)) first = when;
    }
    return first;
}

std::optional<Time> GroupReports::due(const Group& group) const {
    if (group.changes == 0) return group.answer;
    return group.answer ? std::min(*group.answer, group.next_change) : group.next_change;
}

GroupProtocol GroupReports::version(const wire::Gid& group, Time now) const {
    return now < older_until_[is_ipv4(group) ? 0 : 1] ? GroupProtocol::older : GroupProtocol::newer;
}

Time GroupReports::random_time(Time most) {
    return std::uniform_int_distribution<Time>(0, std::max<Time>(most, 1))(random_);
}

}  // namespace verbline::neighbour

// SPDX-License-Identifier: BSD-3-Clause
#include "control/multicast/listeners.h"

#include <algorithm>
#include <utility>

#include "control/multicast/group_scope.h"
#include "datapath/link/ip_gid.h"

namespace verbline::multicast {
namespace {

using neighbour::MembershipQuery, neighbour::MembershipRecord, neighbour::MembershipReport,
    neighbour::MembershipVersion;
using wire::GroupRecordType;

/// More would keep listeners that are gone for days, at the word of whoever has the lowest address.
constexpr Time longest_interval = 10 * 60 * second;
constexpr unsigned most_robustness = 7;

bool unaddressed(const wire::Gid& address) {
    return address == wire::Gid{} || address == link::gid_of(wire::Ipv4Address{});
}

void earliest(std::optional<Time>& first, Time when) {
    first = first ? std::min(*first, when) : when;
}

}  // namespace

Listeners::Actions Listeners::set_address(const std::optional<wire::Gid>& own, Time now) {
    if (own_ == own) return {};
    own_ = own;
    other_until_.reset();
    heard_ = parameters_;
    start_queries_ = parameters_.robustness;
    next_query_ = now;
    return tick(now);
}

Listeners::Actions Listeners::received(const MembershipReport& report, Time now) {
    counters_.membership_reports.add();
    Actions out;
    for (const auto& record : report.records) {
        if (kept(record.group)) heard(record, report.version, out, now);
    }
    return out;
}

/// RFC 3376, 6.4 and 7.3.2, with all sources taken together.
void Listeners::heard(const MembershipRecord& record, MembershipVersion version, Actions& out, Time now) {
    const bool includes =
        record.type == GroupRecordType::mode_is_include || record.type == GroupRecordType::change_to_include;
    const bool blocks = record.type == GroupRecordType::block_old_sources;
    if (!blocks && (!includes || record.sources != 0)) {
        // "Allow no more" is of no listener.
        if (record.type != GroupRecordType::allow_new_sources || record.sources != 0)
            listens(record.group, version, out, now);
        return;
    }
    const auto known = groups_.find(record.group);
    if (known == groups_.end() || record.type == GroupRecordType::mode_is_include) return;
    const auto oldest = Listeners::version(known->second, now);
    if (oldest == MembershipVersion::v1 || (oldest == MembershipVersion::v2 && blocks)) return;
    may_have_left(record.group, out, now);
}

void Listeners::listens(const wire::Gid& gid, MembershipVersion version, Actions& out, Time now) {
    if (groups_.size() >= parameters_.most_groups && !groups_.contains(gid)) {
        return counters_.membership_groups_full.add();
    }
    const auto [place, added] = groups_.try_emplace(gid);
    auto& group = place->second;
    group.expires = now + heard_.membership();
    group.questions = 0;  // whoever else has left: one is enough
    if (version == MembershipVersion::v1) group.v1_until = group.expires;
    if (version == MembershipVersion::v2) group.v2_until = group.expires;
    if (added) out.push_back(Joined{gid});
}

/// The querier asks; others wait for its question (RFC 3376, 6.6.3). Without anyone to ask, what was said is believed.
void Listeners::may_have_left(const wire::Gid& gid, Actions& out, Time now) {
    if (other_until_) return;
    auto& group = groups_.at(gid);
    if (group.questions != 0) return;
    group.expires = std::min(group.expires, now + parameters_.last_member());
    if (!own_) return;
    group.questions = parameters_.robustness - 1;
    group.next_question = now + parameters_.last_member_interval;
    ask(gid, out);
}

Listeners::Actions Listeners::received(const MembershipQuery& query, Time now) {
    counters_.membership_queries_heard.add();
    if (!unaddressed(query.from) && (!own_ || unaddressed(*own_) || query.from < *own_)) {
        if (query.robustness != 0) heard_.robustness = std::min(query.robustness, most_robustness);
        if (query.interval != 0) heard_.query_interval = std::min(query.interval, longest_interval);
        other_until_ = now + heard_.other_querier();
    }
    // RFC 3376, 6.6.1: who does not answer this is gone.
    const auto known = groups_.find(query.group);
    if (other_until_ && known != groups_.end() && query.sources == 0 && !query.suppress) {
        known->second.expires = std::min(known->second.expires, now + parameters_.last_member());
    }
    return {};
}

Listeners::Actions Listeners::clear() {
    Actions out;
    for (const auto& [gid, group] : groups_) out.push_back(Left{gid});
    groups_.clear();
    other_until_.reset();
    heard_ = parameters_;
    return out;
}

Listeners::Actions Listeners::tick(Time now) {
    Actions out;
    if (other_until_ && *other_until_ <= now) {
        other_until_.reset();
        heard_ = parameters_;
        next_query_ = now;
    }
    if (querier() && next_query_ <= now) ask_all(out, now);
    for (auto it = groups_.begin(); it != groups_.end();) {
        auto& [gid, group] = *it;
        if (group.expires <= now) {
            out.push_back(Left{gid});
            it = groups_.erase(it);
            continue;
        }
        if (group.questions != 0 && group.next_question <= now) {
            --group.questions;
            group.next_question = now + parameters_.last_member_interval;
            ask(gid, out);
        }
        ++it;
    }
    return out;
}

void Listeners::ask_all(Actions& out, Time now) {
    const bool starts = start_queries_ > 1;
    if (start_queries_ != 0) --start_queries_;
    next_query_ = now + (starts ? parameters_.query_interval / 4 : parameters_.query_interval);
    ask({}, out);
}

void Listeners::ask(const wire::Gid& group, Actions& out) {
    const bool all = group == wire::Gid{};
    counters_.membership_queries_sent.add();
    out.push_back(SendQuery{{.from = *own_,
                             .group = group,
                             .response_time = all ? parameters_.query_response : parameters_.last_member_interval,
                             .robustness = parameters_.robustness,
                             .interval = parameters_.query_interval}});
}

std::optional<Time> Listeners::deadline() const {
    std::optional<Time> first = other_until_;
    if (querier()) earliest(first, next_query_);
    for (const auto& [gid, group] : groups_) {
        earliest(first, group.expires);
        if (group.questions != 0) earliest(first, group.next_question);
    }
    return first;
}

MembershipVersion Listeners::version(const Group& group, Time now) {
    if (group.v1_until && *group.v1_until > now) return MembershipVersion::v1;
    if (group.v2_until && *group.v2_until > now) return MembershipVersion::v2;
    return MembershipVersion::v3;
}

bool Listeners::kept(const wire::Gid& group) const {
    return parameters_.link_scope ? is_reported(group) : is_routed(group);
}

std::vector<Listeners::Shown> Listeners::show(Time now) const {
    std::vector<Shown> list;
    for (const auto& [gid, group] : groups_) list.push_back({gid, version(group, now), group.expires - now});
    return list;
}

}  // namespace verbline::multicast

// SPDX-License-Identifier: BSD-3-Clause
#include "control/ipoib/group_memberships.h"

#include <algorithm>
#include <utility>

#include "control/ipoib/groups.h"
#include "control/sa/address_handle.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/ipoib.h"

namespace verbline::ipoib {
namespace {

/// User ids of the joins here are above this one.
constexpr std::uint64_t first_user = 0x1'0000;

}  // namespace

GroupMemberships::GroupMemberships(sa::Agent& agent, control::Loop& loop, Setup setup)
    : agent_(agent), loop_(loop), setup_(std::move(setup)), last_user_(first_user) {
    agent_.on_report([this](const wire::Notice& notice) { report(notice); });
}

GroupMemberships::~GroupMemberships() {
    agent_.on_report({});
    for (const auto& [group, entry] : entries_) agent_.groups().leave(mgid_of(group), entry.user);
}

wire::Gid GroupMemberships::mgid_of(const wire::Gid& group) const {
    return ipoib::mgid_of(group, setup_.pkey);
}

void GroupMemberships::set_broadcast(const sa::Group& group) {
    if (broadcast_ == group) return;
    broadcast_ = group;
    for (auto& [ip, entry] : entries_) entry.joined = 0;
    for (const auto& [ip, entry] : std::map(entries_)) update(ip);
}

void GroupMemberships::locate_again() {
    for (const auto& [group, entry] : entries_)
        if (entry.group && (entry.sends || entry.resolves))
            setup_.located(group, sa::address_handle(*entry.group, mgid_of(group)));
}

void GroupMemberships::hear(const wire::Gid& group, bool wanted) {
    if (!wanted && !entries_.contains(group)) return;
    auto& entry = entries_[group];
    if (std::exchange(entry.hears, wanted) == wanted) return;
    if (wanted) {
        update(group);
        return;
    }
    const auto mgid = mgid_of(group);
    setup_.detach(mgid);
    update(group);
    // Whoever joined while we were in it was not to be seen.
    asked_.erase(mgid);
    look_for(group);
}

void GroupMemberships::send(const wire::Gid& group, bool wanted) {
    if (!wanted && !entries_.contains(group)) return;
    entries_[group].sends = wanted;
    update(group);
}

void GroupMemberships::resolve(const wire::Gid& group) {
    const auto known = entries_.find(group);
    if (known == entries_.end() || !known->second.resolves) make_room();
    auto& entry = entries_[group];
    entry.resolves = true;
    if (entry.group) return setup_.located(group, sa::address_handle(*entry.group, mgid_of(group)));
    update(group);
}

sa::JoinStates GroupMemberships::wanted(const Entry& entry) {
    using namespace wire::join_state;
    if (entry.hears || (entry.full && (entry.sends || entry.resolves))) return full_member;
    if (entry.resolves) return send_only_full_member;
    return entry.sends ? send_only_non_member : 0;
}

/// Joins or leaves, so that the port is in the group as it has to be.
void GroupMemberships::update(const wire::Gid& group) {
    auto& entry = entries_.at(group);
    const auto mgid = mgid_of(group);
    const auto state = wanted(entry);
    if (state == 0) {
        agent_.groups().leave(mgid, entry.user);
        entries_.erase(group);
        return;
    }
    if (!broadcast_ || state == entry.joined) return;
    if (entry.user == sa::UserId{}) entry.user = sa::UserId{++last_user_};
    entry.joined = state;
    if (state != wire::join_state::send_only_non_member) foreign_.erase(mgid);
    agent_.groups().join(mgid, entry.user, state, {.pkey = setup_.pkey, .create_like = broadcast_},
                         [this, group, user = entry.user](const Answer& answer) { answered(group, user, answer); });
}

void GroupMemberships::answered(const wire::Gid& group, sa::UserId user, const Answer& answer) {
    const auto known = entries_.find(group);
    if (known == entries_.end() || known->second.user != user) return;
    auto& entry = known->second;
    if (!answer) return refused(group, entry);
    counters_.multicast_joins.add();
    entry.group = *answer;
    const auto mgid = mgid_of(group);
    if (entry.hears) setup_.attach(mgid, answer->mlid);
    if (entry.sends || entry.resolves) setup_.located(group, sa::address_handle(*answer, mgid));
}

/// The SA has dropped us as a user.
void GroupMemberships::refused(const wire::Gid& group, Entry& entry) {
    counters_.multicast_refused.add();
    const bool sent_only = std::exchange(entry.joined, sa::JoinStates{}) != wire::join_state::full_member;
    entry.group.reset();
    const auto mgid = mgid_of(group);
    if (sent_only && foreign_.contains(mgid)) {
        // It is gone. If that was the reason to send there, this ends it.
        set_exists(mgid, false);
        if (!entries_.contains(group)) return;
    }
    auto& still = entries_.at(group);
    if (sent_only && !still.full) {
        still.full = true;
        return update(group);
    }
    setup_.unreachable(group);
    still.resolves = false;
    if (!still.hears && !still.sends) entries_.erase(group);
}

std::optional<wire::Gid> GroupMemberships::group_of(const wire::Gid& mgid) const {
    const auto found = std::ranges::find_if(entries_, [&](const auto& each) { return mgid_of(each.first) == mgid; });
    return found != entries_.end() ? std::optional(found->first) : std::nullopt;
}

bool GroupMemberships::exists(const wire::Gid& group) const {
    return foreign_.contains(mgid_of(group));
}

std::vector<wire::Gid> GroupMemberships::others() const {
    std::vector<wire::Gid> groups;
    for (const auto& mgid : foreign_)
        if (const auto group = ipoib::group_of(mgid); group && link::is_group(*group)) groups.push_back(*group);
    return groups;
}

void GroupMemberships::look_for(const wire::Gid& group) {
    const auto mgid = mgid_of(group);
    if (!broadcast_ || foreign_.contains(mgid) || makes(mgid)) return;
    const auto now = loop_.now();
    std::erase_if(asked_, [&](const auto& each) { return each.second + look_again <= now; });
    if (asked_.size() >= max_foreign || !asked_.try_emplace(mgid, now).second) return;
    counters_.multicast_lookups.add();
    agent_.client().membership(
        wire::MadMethod::get, {.mgid = mgid}, wire::mcmember_component::mgid,
        [this, alive = std::weak_ptr(alive_), mgid](const sa::Answer<wire::McMemberRecord>& answer) {
            if (!alive.expired() && answer && !makes(mgid)) set_exists(mgid, true);
        },
        sa::Client::once(second));
}

void GroupMemberships::report(const wire::Notice& notice) {
    const bool made = notice.trap == static_cast<std::uint16_t>(wire::Trap::multicast_created);
    const bool gone = notice.trap == static_cast<std::uint16_t>(wire::Trap::multicast_deleted);
    if (!notice.generic || (!made && !gone)) return;
    const auto mgid = wire::notice_gid(notice);
    const auto prefix = [&](std::uint16_t signature) {
        const auto ours = wire::ipoib_mgid(signature, setup_.pkey, wire::link_local_scope);
        return std::ranges::equal(wire::Bytes(ours.bytes).first(6), wire::Bytes(mgid.bytes).first(6));
    };
    if (!prefix(wire::ipoib_ipv4_signature) && !prefix(wire::ipoib_ipv6_signature)) return;
    if (made && makes(mgid)) return;
    if (made) counters_.multicast_groups_made.add();
    set_exists(mgid, made);
}

void GroupMemberships::set_exists(const wire::Gid& mgid, bool exists) {
    asked_.erase(mgid);
    if (exists && foreign_.size() >= max_foreign) return;
    const bool changed = exists ? foreign_.insert(mgid).second : foreign_.erase(mgid) != 0;
    if (changed) setup_.changed();
}

/// Whether the group may exist by us alone.
bool GroupMemberships::makes(const wire::Gid& mgid) const {
    return std::ranges::any_of(entries_, [&](const auto& each) {
        const auto& entry = each.second;
        return (entry.hears || entry.resolves || entry.full) && mgid_of(each.first) == mgid;
    });
}

/// Of those that only the kernel sends to, leaves the one that was resolved first.
void GroupMemberships::make_room() {
    const auto resolved = [](const auto& each) { return each.second.resolves; };
    if (static_cast<std::size_t>(std::ranges::count_if(entries_, resolved)) < max_resolved) return;
    auto victim = entries_.end();
    for (auto it = entries_.begin(); it != entries_.end(); ++it)
        if (resolved(*it) && (victim == entries_.end() || it->second.user < victim->second.user)) victim = it;
    const auto group = victim->first;
    counters_.multicast_groups_left.add();
    victim->second.resolves = false;
    if (!victim->second.sends) setup_.unreachable(group);
    update(group);
}

}  // namespace verbline::ipoib

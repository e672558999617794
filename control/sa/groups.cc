// SPDX-License-Identifier: BSD-3-Clause
#include "control/sa/groups.h"

#include <algorithm>
#include <utility>

namespace verbline::sa {

namespace component = wire::mcmember_component;

Group group_of(const wire::McMemberRecord& record) {
    return {.mlid = record.mlid,
            .qkey = record.qkey,
            .pkey = record.pkey,
            .mtu = record.mtu,
            .rate = record.rate,
            .lifetime = record.lifetime,
            .service_level = record.service_level,
            .hop_limit = record.hop_limit,
            .traffic_class = record.traffic_class,
            .flow_label = record.flow_label};
}

std::pair<wire::McMemberRecord, wire::ComponentMask> join_request(const wire::Gid& mgid, const wire::Gid& port,
                                                                  JoinStates states, const JoinParameters& parameters) {
    wire::McMemberRecord record{.mgid = mgid, .port_gid = port, .pkey = parameters.pkey, .join_state = states};
    wire::ComponentMask mask = component::mgid | component::port_gid | component::pkey | component::join_state;
    // Only a full member may create (IBTA 15.2.5.17.4); for others these components would only give the SA more to
    // refuse.
    constexpr auto creators = wire::join_state::full_member | wire::join_state::send_only_full_member;
    if (!parameters.create_like || (states & creators) == 0) return {record, mask};
    const auto& like = *parameters.create_like;
    record.qkey = like.qkey;
    record.mtu_selector = wire::Selector::exactly;
    record.mtu = like.mtu;
    record.rate_selector = wire::Selector::exactly;
    record.rate = like.rate;
    record.service_level = like.service_level;
    record.flow_label = like.flow_label;
    record.hop_limit = like.hop_limit;
    record.traffic_class = like.traffic_class;
    mask |= component::qkey | component::mtu_selector | component::mtu | component::rate_selector | component::rate |
            component::service_level | component::flow_label | component::hop_limit | component::traffic_class;
    return {record, mask};
}

Groups::Groups(Client& client, control::Loop& loop, const MembershipTiming& timing)
    : client_(client),
      loop_(loop),
      timing_(timing),
      use_(client.transport().shared() ? PortUse::shared : PortUse::ours_alone) {}

void Groups::join(const wire::Gid& mgid, UserId user, JoinStates state, const JoinParameters& parameters,
                  Notify notify) {
    auto& entry = groups_.try_emplace(mgid, Entry{Membership(timing_, use_), parameters, {}}).first->second;
    if (parameters.create_like || !entry.parameters.create_like) entry.parameters = parameters;
    entry.users.insert_or_assign(user, std::move(notify));
    Membership::Actions now, later;
    for (const auto& action : entry.membership.join(user, state, loop_.now())) {
        (std::holds_alternative<Membership::Ask>(action) ? now : later).push_back(action);
    }
    // A grant that can be given at once comes from the loop like all others.
    if (!later.empty()) {
        loop_.post([this, alive = std::weak_ptr(alive_), mgid, later = std::move(later)] {
            if (!alive.expired()) perform(mgid, later);
        });
    }
    perform(mgid, now);
}

void Groups::leave(const wire::Gid& mgid, UserId user) {
    const auto it = groups_.find(mgid);
    if (it == groups_.end()) return;
    it->second.users.erase(user);
    perform(mgid, it->second.membership.leave(user, loop_.now()));
}

void Groups::lost() {
    for (auto& [mgid, entry] : groups_) {
        for (const auto& action : entry.membership.lost(loop_.now())) {
            if (const auto* asked = std::get_if<Membership::Ask>(&action)) ask(mgid, entry, *asked);
        }
    }
    std::erase_if(groups_, [](const auto& group) { return group.second.membership.idle(); });
    arm();
}

void Groups::perform(const wire::Gid& mgid, const Membership::Actions& actions) {
    const auto it = groups_.find(mgid);
    if (it == groups_.end()) return;
    std::vector<std::pair<Notify, std::expected<Group, SaStatus>>> news;
    for (const auto& action : actions) {
        if (const auto* asked = std::get_if<Membership::Ask>(&action)) {
            ask(mgid, it->second, *asked);
        } else if (const auto* grant = std::get_if<Membership::Grant>(&action)) {
            if (const auto user = it->second.users.find(grant->user); user != it->second.users.end()) {
                news.emplace_back(user->second, grant->group);
            }
        } else if (const auto* refusal = std::get_if<Membership::Refuse>(&action)) {
            if (auto user = it->second.users.extract(refusal->user)) {
                news.emplace_back(std::move(user.mapped()), std::unexpected(refusal->why));
            }
        }
    }
    if (it->second.membership.idle()) groups_.erase(it);
    arm();
    // Last: users join and leave from here.
    for (const auto& [notify, what] : news) notify(what);
}

void Groups::ask(const wire::Gid& mgid, const Entry& entry, const Membership::Ask& ask) {
    const auto port = client_.transport().port().gid();
    const auto [record, mask] =
        join_request(mgid, port, ask.states, ask.join ? entry.parameters : JoinParameters{entry.parameters.pkey, {}});
    // The membership repeats what goes unanswered, so the client need not.
    client_.membership(
        ask.join ? wire::MadMethod::set : wire::MadMethod::remove, record, mask,
        [this, mgid, id = ask.id](const Answer<wire::McMemberRecord>& answer) {
            const auto it = groups_.find(mgid);
            if (it == groups_.end()) return;
            if (answer) {
                perform(mgid, it->second.membership.answered(id, SaStatus::ok, answer->join_state, group_of(*answer),
                                                             loop_.now()));
            } else if (answer.error().reason == Failure::Reason::refused) {
                perform(mgid, it->second.membership.answered(id, answer.error().status, 0, {}, loop_.now()));
            }
        },
        Client::once(timing_.timeout));
}

void Groups::tick() {
    const auto now = loop_.now();
    std::vector<wire::Gid> due;
    for (const auto& [mgid, entry] : groups_) {
        if (const auto deadline = entry.membership.deadline(); deadline && *deadline <= now) due.push_back(mgid);
    }
    for (const auto& mgid : due) {
        if (const auto it = groups_.find(mgid); it != groups_.end()) perform(mgid, it->second.membership.tick(now));
    }
    arm();
}

void Groups::arm() {
    std::optional<Time> first;
    for (const auto& [mgid, entry] : groups_) {
        if (const auto deadline = entry.membership.deadline()) first = first ? std::min(*first, *deadline) : deadline;
    }
    if (!first) return timer_.cancel();
    timer_ = loop_.at(*first, [this] { tick(); });
}

std::optional<wire::Gid> Groups::next_held(const std::optional<wire::Gid>& previous) const {
    const auto held = [](const auto& group) { return group.second.membership.held() != 0; };
    const auto start = previous ? groups_.upper_bound(*previous) : groups_.begin();
    auto it = std::find_if(start, groups_.end(), held);
    if (it == groups_.end()) it = std::find_if(groups_.begin(), groups_.end(), held);
    return it == groups_.end() ? std::nullopt : std::optional(it->first);
}

std::vector<Groups::Shown> Groups::show() const {
    std::vector<Shown> list;
    for (const auto& [mgid, entry] : groups_) {
        const auto& membership = entry.membership;
        list.push_back({mgid, membership.group(), membership.wanted(), membership.held(), membership.users(),
                        entry.parameters.pkey});
    }
    return list;
}

}  // namespace verbline::sa

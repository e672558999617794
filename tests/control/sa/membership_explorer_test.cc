// SPDX-License-Identifier: BSD-3-Clause
// Every state that a membership of two users can get into, with a subnet administrator that answers, refuses, is busy,
// loses and forgets as it likes: breadth first, over the object itself. From each of them a subnet administrator that
// behaves must bring it to rest with exactly what the users want: no state is stuck.
#include <deque>
#include <set>
#include <unordered_set>

#include <gtest/gtest.h>

#include "control/sa/membership.h"
#include "tests/control/sa/users.h"

namespace verbline::sa {

/// A state without what does not matter for its future: of the numbers of requests only which is the one that is out,
/// times from now.
class MembershipExplorer {
public:
    static std::string key(const Membership& membership, Time now) {
        std::string key;
        const auto add = [&](auto value) { key.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
        const auto add_time = [&](const std::optional<Time>& time) { add(time ? *time - now : Time{-1}); };
        for (const auto& [id, user] : membership.users_) {
            add(id), add(user.state), add(user.granted), add(user.established), add(user.refusals);
        }
        add('|'), add(membership.held_), add(membership.ours_), add(membership.doubtful_);
        add(membership.asked_.has_value());
        if (membership.asked_) {
            add(membership.asked_->join), add(membership.asked_->states);
            add_time(membership.wake_), add(membership.back_off_);
        }
        add_time(membership.rest_until_), add(membership.rest_);
        return key;
    }
    static bool awaits(const Membership& membership, std::uint32_t id) {
        return membership.asked_ && membership.asked_->id == id;
    }
};

namespace {

using wire::join_state::full_member, wire::join_state::send_only_full_member;

constexpr Group the_group{.mlid = wire::Lid{0xc001}, .qkey = wire::QKey{0xb1b}};
/// Waits that do not grow: how long they are changes nothing in what can follow.
constexpr MembershipTiming timing{.timeout = 100, .rest = 100, .limit = 100, .patience = 2};
constexpr std::size_t most_on_the_way = 2;

struct Answer {
    std::uint32_t id;
    SaStatus status;
    JoinStates states;
    auto operator<=>(const Answer&) const = default;
};

struct Explored {
    Membership membership{timing};
    Time now = 0;
    std::vector<Membership::Ask> asks;  ///< on the way to the SA
    std::vector<Answer> answers;        ///< on the way back
    JoinStates member = 0;              ///< what the SA has us down for
    bool forgot = false;                ///< and we have not noticed yet
    std::map<UserId, JoinStates> users;
    std::set<UserId> told;  ///< of the users: those that know the group

    std::string key() const {
        auto key = MembershipExplorer::key(membership, now);
        const auto awaited = [&](std::uint32_t id) { return MembershipExplorer::awaits(membership, id); };
        const auto add = [&](auto value) { key.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
        for (const auto& ask : asks) add(awaited(ask.id)), add(ask.join), add(ask.states);
        add('|');
        for (const auto& answer : answers) add(answer.status), add(answer.states);
        add('|'), add(member), add(forgot);
        for (const auto user : told) add(user);
        return key;
    }

    void play(const Membership::Actions& actions) {
        for (const auto& action : actions) {
            if (const auto* ask = std::get_if<Membership::Ask>(&action)) {
                ASSERT_NE(ask->states, 0);
                asks.push_back(*ask);
                if (asks.size() > most_on_the_way) asks.erase(asks.begin());
            } else if (const auto* grant = std::get_if<Membership::Grant>(&action)) {
                ASSERT_TRUE(users.contains(grant->user)) << "no news for those who left";
                ASSERT_TRUE(told.insert(grant->user).second) << "told twice of the same";
            } else if (const auto* refuse = std::get_if<Membership::Refuse>(&action)) {
                ASSERT_TRUE(users.erase(refuse->user) == 1);
                ASSERT_FALSE(told.contains(refuse->user)) << "who was in is never refused";
            }
        }
        forget_strays();
    }
    void join(UserId user, JoinStates state) {
        users[user] = state;
        told.erase(user);
        play(membership.join(user, state, now));
    }
    void leave(UserId user) {
        users.erase(user);
        told.erase(user);
        play(membership.leave(user, now));
    }
    /// The SA takes the oldest request; what comes of it is under way back.
    void serve(SaStatus status) {
        const auto ask = asks.front();
        asks.erase(asks.begin());
        if (status == SaStatus::ok) {
            const bool known = ask.join || (member & ask.states) != 0;
            member = static_cast<JoinStates>(ask.join ? member | ask.states : member & ~ask.states);
            if (!known) status = SaStatus::invalid_request;
        }
        answers.push_back({ask.id, status, member});
        forget_strays();
    }
    /// Answers that nobody awaits any more.
    void forget_strays() {
        std::erase_if(answers, [&](const Answer& each) { return !MembershipExplorer::awaits(membership, each.id); });
        if (answers.size() > most_on_the_way) answers.erase(answers.begin());
    }
    void deliver(std::size_t at) {
        const auto answer = answers[at];
        answers.erase(answers.begin() + static_cast<std::ptrdiff_t>(at));
        play(membership.answered(answer.id, answer.status, answer.states, the_group, now));
    }
    void notice() {
        forgot = false;
        play(membership.lost(now));
    }
    void tick() {
        now = std::max(now, membership.deadline().value_or(now));
        play(membership.tick(now));
    }

    /// From now on everybody behaves.
    void settle() {
        if (forgot) notice();
        while (!answers.empty()) deliver(0);
        for (int i = 0; i < 60 && (!asks.empty() || membership.deadline()); ++i) {
            if (asks.empty()) tick();
            while (!asks.empty()) serve(SaStatus::ok);
            while (!answers.empty()) deliver(0);
        }
    }
    bool at_rest() const {
        JoinStates wanted = 0;
        for (const auto& [user, state] : users) wanted |= state;
        return !membership.deadline() && membership.users() == users.size() && member == wanted &&
               told.size() == users.size();
    }
};

/// Everything that can happen next.
std::vector<Explored> successors(const Explored& from) {
    std::vector<Explored> out;
    const auto add = [&](auto&& happen) {
        out.push_back(from);
        happen(out.back());
    };
    for (const auto user : {alice, bob}) {
        for (const auto state : {full_member, send_only_full_member}) {
            if (user == bob && state != full_member) continue;  // alice's changes cover it
            const auto known = from.users.find(user);
            if (known == from.users.end() || known->second != state) add([&](Explored& w) { w.join(user, state); });
        }
        if (from.users.contains(user)) add([&](Explored& w) { w.leave(user); });
    }
    // Requests do not overtake each other: what an SA does last would not be what it was told last.
    if (!from.asks.empty()) {
        for (const auto status : {SaStatus::ok, SaStatus::busy}) add([&](Explored& w) { w.serve(status); });
        // A join may come too early, or be one that can never be; a leave is refused only if there is nothing to leave.
        if (from.asks.front().join) add([](Explored& w) { w.serve(SaStatus::invalid_request); });
        add([](Explored& w) { w.asks.erase(w.asks.begin()); });
    }
    for (std::size_t at = 0; at < from.answers.size(); ++at) {
        add([&](Explored& w) { w.deliver(at); });
        add([&](Explored& w) { w.answers.erase(w.answers.begin() + static_cast<std::ptrdiff_t>(at)); });
    }
    if (from.member != 0) add([](Explored& w) { w.member = 0, w.forgot = true; });
    if (from.forgot) add([](Explored& w) { w.notice(); });
    if (from.membership.deadline()) add([](Explored& w) { w.tick(); });
    return out;
}

TEST(MembershipExplorer, NoStateIsStuck) {
    std::unordered_set<std::string> seen;
    std::deque<Explored> frontier{Explored{}};
    seen.insert(frontier.front().key());
    constexpr std::size_t most = 5'000'000;
    for (; !frontier.empty() && seen.size() < most && !testing::Test::HasFatalFailure(); frontier.pop_front()) {
        auto settled = frontier.front();
        settled.settle();
        ASSERT_TRUE(settled.at_rest()) << "stuck: " << frontier.front().users.size() << " users, SA has "
                                       << int{frontier.front().member} << ", wanted "
                                       << int{settled.membership.wanted()} << ", now " << int{settled.member};
        for (auto& next : successors(frontier.front())) {
            if (seen.insert(next.key()).second) frontier.push_back(std::move(next));
        }
    }
    EXPECT_TRUE(frontier.empty()) << "more states than expected";
    RecordProperty("states", std::to_string(seen.size()));
    std::printf("    %zu states of a group's membership, none stuck\n", seen.size());
}

}  // namespace
}  // namespace verbline::sa

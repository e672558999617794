// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// The path cache and a group's membership in conversation with a subnet administrator that answers late, twice, in any
/// order, with any status, or lies; that forgets us; on a subnet that changes. Users come and go, and time passes.
///
/// Every waiter is answered once; memory and questions stay bounded; and when the administrator behaves again, the
/// membership that it holds is the one that users want.

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "control/sa/membership.h"
#include "control/sa/path_cache.h"
#include "tests/fuzz/datapath/packets.h"

namespace verbline {
namespace {

using fuzz::expect;

constexpr std::size_t most_outstanding = 32;
constexpr sa::PathCacheLimits limits{.max_paths = 8, .max_waiters = 4, .max_revalidations = 3};
constexpr std::array<sa::SaStatus, 5> statuses{sa::SaStatus::ok, sa::SaStatus::busy, sa::SaStatus::no_resources,
                                               sa::SaStatus::no_records, sa::SaStatus::invalid_request};

wire::Gid gid(unsigned n) {
    return wire::Gid::of(wire::default_subnet_prefix, wire::Guid{n});
}

class PathTalk {
public:
    void step(fuzz::Input& input, Time now);
    void pass(Time now) {
        sa::PathCache::Actions actions;
        cache_.tick(now, actions);
        perform(actions, now);
    }
    void end(Time now);

private:
    void perform(const sa::PathCache::Actions& actions, Time now);
    void settle(std::uint64_t waiter) { expect(waiting_.erase(waiter) == 1); }
    void check() const {
        expect(cache_.size() <= limits.max_paths);
        expect(waiting_.size() <= limits.max_paths * limits.max_waiters);
    }

    sa::PathCache cache_{limits};
    std::vector<sa::PathCache::Query> queries_;
    std::set<std::uint64_t> waiting_;
    std::uint64_t last_waiter_ = 0;
};

void PathTalk::perform(const sa::PathCache::Actions& actions, Time now) {
    for (const auto& action : actions) {
        if (const auto* const query = std::get_if<sa::PathCache::Query>(&action)) {
            queries_.push_back(*query);
        } else if (const auto* const found = std::get_if<sa::PathCache::Resolved>(&action)) {
            settle(static_cast<std::uint64_t>(found->waiter));
        } else if (const auto* const failed = std::get_if<sa::PathCache::Failed>(&action)) {
            settle(static_cast<std::uint64_t>(failed->waiter));
        }
    }
    // Who asks faster than anybody answers is told so by the transactions below.
    while (queries_.size() > most_outstanding) {
        sa::PathCache::Actions more;
        const auto id = queries_.front().id;
        queries_.erase(queries_.begin());
        cache_.answered(id, sa::Failure{.reason = sa::Failure::Reason::queue_full}, now, more);
        perform(more, now);
    }
    check();
}

void PathTalk::step(fuzz::Input& input, Time now) {
    sa::PathCache::Actions actions;
    const auto what = input.byte();
    const sa::PathKey key{.source = gid(1), .destination = gid(what / 8 % 16)};
    switch (what % 8) {
        case 0:
        case 1:
            waiting_.insert(++last_waiter_);
            cache_.resolve(key, sa::Waiter{last_waiter_}, now, actions);
            break;
        case 2: std::ignore = cache_.find(key, now); break;
        case 3: cache_.doubt(key.destination, now, actions); break;
        case 4:
            if (what >= 128) cache_.doubt_all(now, actions);
            break;
        default: {
            if (queries_.empty()) return;
            const auto at = queries_.begin() + input.byte() % static_cast<std::ptrdiff_t>(queries_.size());
            const auto query = *at;
            if (what % 8 != 5) queries_.erase(at);  // else it will come twice
            const auto how = input.byte();
            if (how % 4 == 0) {
                const sa::Failure failure{.reason = static_cast<sa::Failure::Reason>(how / 4 % 5),
                                          .status = statuses[how / 32 % statuses.size()]};
                cache_.answered(query.id, failure, now, actions);
            } else {
                cache_.answered(query.id,
                                wire::PathRecord{.destination_gid = gid(how % 4 == 1 ? how : what / 8 % 16),
                                                 .destination_lid = wire::Lid{how},
                                                 .lifetime = static_cast<std::uint8_t>(how / 8)},
                                now, actions);
            }
        }
    }
    perform(actions, now);
}

/// Everything that is out is answered; then nobody waits.
void PathTalk::end(Time now) {
    for (int i = 0; i < 10'000 && (!queries_.empty() || !waiting_.empty()); ++i) {
        sa::PathCache::Actions actions;
        if (!queries_.empty()) {
            const auto query = queries_.back();
            queries_.pop_back();
            cache_.answered(query.id, wire::PathRecord{.destination_gid = query.key.destination}, now, actions);
        } else if (const auto due = cache_.deadline()) {
            now = std::max(now, *due);
            cache_.tick(now, actions);
        } else {
            break;
        }
        perform(actions, now);
    }
    expect(waiting_.empty());
}

class GroupTalk {
public:
    void step(fuzz::Input& input, Time now);
    void pass(Time now) { perform(membership_.tick(now)); }
    void end(Time now);

private:
    void perform(const sa::Membership::Actions& actions);
    void answer(const sa::Membership::Ask& ask, sa::SaStatus status, Time now);
    void calm(Time now);

    sa::Membership membership_;
    std::vector<sa::Membership::Ask> asked_;
    std::set<std::uint64_t> users_;
    sa::JoinStates held_there_ = 0;  ///< by the administrator
};

void GroupTalk::perform(const sa::Membership::Actions& actions) {
    for (const auto& action : actions) {
        if (const auto* const ask = std::get_if<sa::Membership::Ask>(&action)) {
            expect(ask->states != 0);
            asked_.push_back(*ask);
            if (asked_.size() > most_outstanding) asked_.erase(asked_.begin());
        } else if (const auto* const grant = std::get_if<sa::Membership::Grant>(&action)) {
            expect(users_.contains(static_cast<std::uint64_t>(grant->user)));
        } else {
            expect(users_.erase(static_cast<std::uint64_t>(std::get<sa::Membership::Refuse>(action).user)) == 1);
        }
    }
    expect(membership_.users() == users_.size());
}

/// As OpenSM does it: the record says what is held now.
void GroupTalk::answer(const sa::Membership::Ask& ask, sa::SaStatus status, Time now) {
    if (status == sa::SaStatus::ok) {
        const unsigned held = ask.join ? held_there_ | ask.states : held_there_ & ~unsigned{ask.states};
        held_there_ = static_cast<sa::JoinStates>(held);
    }
    perform(membership_.answered(ask.id, status, held_there_, {.mlid = wire::Lid{0xc001}}, now));
}

void GroupTalk::step(fuzz::Input& input, Time now) {
    const auto what = input.byte();
    const std::uint64_t user = what / 8 % 4;
    switch (what % 8) {
        case 0:
        case 1:
            users_.insert(user);
            return perform(membership_.join(sa::UserId{user}, static_cast<sa::JoinStates>(1 << what / 32 % 4), now));
        case 2: {
            users_.erase(user);
            return perform(membership_.leave(sa::UserId{user}, now));
        }
        case 3:
            if (what >= 128) held_there_ = 0;
            return perform(membership_.lost(now));
        default: {
            if (asked_.empty()) return;
            const auto at = asked_.begin() + input.byte() % static_cast<std::ptrdiff_t>(asked_.size());
            const auto ask = *at;
            if (what % 8 != 4) asked_.erase(at);
            const auto status = statuses[what / 8 % statuses.size()];
            if (what % 8 != 7) return answer(ask, status, now);
            // A lie, or another group's record.
            const auto record = input.byte();
            perform(membership_.answered(ask.id, status, static_cast<sa::JoinStates>(record % 16),
                                         {.mlid = wire::Lid{record}}, now));
        }
    }
}

/// Until nothing is left to be said.
void GroupTalk::calm(Time now) {
    for (int i = 0; i < 1000; ++i) {
        if (!asked_.empty()) {
            answer(std::exchange(asked_, {}).back(), sa::SaStatus::ok, now);
        } else if (const auto due = membership_.deadline()) {
            now = std::max(now, *due);
            perform(membership_.tick(now));
        } else {
            return;
        }
    }
    expect(false);
}

void GroupTalk::end(Time now) {
    asked_.clear();  // lost
    calm(now);
    // What it was told of the past may have been lies: a new manager knows nothing, and says so.
    held_there_ = 0;
    perform(membership_.lost(now));
    calm(now);
    expect(membership_.held() == membership_.wanted());
    expect((held_there_ & membership_.wanted()) == membership_.wanted());
    for (const auto user : std::set(users_)) {
        users_.erase(user);
        perform(membership_.leave(sa::UserId{user}, now));
    }
    calm(now);
    expect(membership_.idle());
    expect(held_there_ == 0);
}

void run(fuzz::Input input) {
    PathTalk paths;
    GroupTalk group;
    Time now = second;
    while (!input.empty()) {
        switch (input.byte() % 5) {
            case 0:
            case 1: paths.step(input, now); break;
            case 2:
            case 3: group.step(input, now); break;
            default:
                now += Time{input.word()} * (10 * millisecond);
                paths.pass(now);
                group.pass(now);
        }
    }
    paths.end(now);
    group.end(now);
}

}  // namespace
}  // namespace verbline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    verbline::run(verbline::fuzz::Input(std::as_bytes(std::span(data, size))));
    return 0;
}

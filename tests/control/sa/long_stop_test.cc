// SPDX-License-Identifier: BSD-3-Clause
// What is known of the subnet and asked of its administrator on a machine that is suspended: minutes to months pass
// between two looks at the clock.
#include <vector>

#include <gtest/gtest.h>

#include "control/mad/transactions.h"
#include "control/sa/membership.h"
#include "control/sa/path_cache.h"
#include "datapath/wire/mad.h"

namespace verbline::sa::long_stop {
namespace {

constexpr Time minute = 60 * second, hour = 60 * minute, day = 24 * hour;

class LongStop : public testing::TestWithParam<Time> {
protected:
    /// Whoever sleeps until the deadline sleeps.
    template <class Machine>
    void expect_sleep(const Machine& machine) {
        const auto deadline = machine.deadline();
        EXPECT_TRUE(!deadline || *deadline > now) << "it would be called for ever";
    }
    template <class T, class Actions>
    static std::vector<T> take(const Actions& actions) {
        std::vector<T> list;
        for (const auto& action : actions) {
            if (const auto* one = std::get_if<T>(&action)) list.push_back(*one);
        }
        return list;
    }

    Time now = second;
};

constexpr PathKey key(unsigned n) {
    return {.source = wire::Gid::of(wire::default_subnet_prefix, wire::Guid{1}),
            .destination = wire::Gid::of(wire::default_subnet_prefix, wire::Guid{n})};
}

class PathsLongStop : public LongStop {
protected:
    PathsLongStop() {
        for (unsigned n = 0; n < paths; ++n) {
            cache.resolve(key(n), Waiter{n}, now, actions);
            learn();
        }
    }
    /// Answers all that is asked, until nothing is.
    void learn() {
        while (!actions.empty()) {
            const auto asked = take<PathCache::Query>(std::exchange(actions, {}));
            EXPECT_LE(asked.size(), PathCacheLimits{}.max_revalidations);
            for (const auto& query : asked) {
                const auto lid = wire::Lid{static_cast<std::uint16_t>(query.id)};
                cache.answered(query.id,
                               wire::PathRecord{.destination_gid = query.key.destination, .destination_lid = lid}, now,
                               actions);
            }
        }
    }
    /// The SA stays silent: how many questions it was asked in the time.
    std::size_t silence(int looks) {
        std::size_t asked = 0;
        for (int look = 0; look < looks; ++look) {
            auto queries = take<PathCache::Query>(std::exchange(actions, {}));
            asked += queries.size();
            for (const auto& query : queries) {
                cache.answered(query.id, Failure{.reason = Failure::Reason::timed_out}, now, actions);
            }
            now += GetParam();
            cache.tick(now, actions);
            expect_sleep(cache);
        }
        return asked;
    }

    static constexpr unsigned paths = 1000;
    PathCache cache;
    PathCache::Actions actions;
};

TEST_P(PathsLongStop, KnownPathsAnswerAndAreAskedAboutAFewAtATime) {
    now += GetParam() + PathCacheLimits{}.ttl;
    cache.tick(now, actions);
    expect_sleep(cache);
    for (unsigned n = 0; n < paths; ++n) {
        EXPECT_EQ(cache.find(key(n), now).found, PathCache::Found::doubtful);
        cache.resolve(key(n), Waiter{n}, now, actions);
    }
    EXPECT_EQ(take<PathCache::Resolved>(actions).size(), paths) << "traffic does not wait";
    EXPECT_LE(take<PathCache::Query>(actions).size(), PathCacheLimits{}.max_revalidations);
    learn();
    for (unsigned n = 0; n < paths; ++n) EXPECT_EQ(cache.find(key(n), now).found, PathCache::Found::fresh);
}

TEST_P(PathsLongStop, ASilentAdministratorIsAskedOnceALook) {
    now += GetParam();
    cache.doubt_all(now, actions);
    EXPECT_LE(silence(50), 16u + 50u);
    for (unsigned n = 0; n < paths; ++n) EXPECT_EQ(cache.find(key(n), now).found, PathCache::Found::doubtful);
    cache.tick(now, actions);
    learn();
    EXPECT_EQ(cache.size(), paths);
    EXPECT_EQ(cache.find(key(1), now).found, PathCache::Found::fresh) << "it is back, and so are all of its paths";
    EXPECT_EQ(cache.find(key(paths - 1), now).found, PathCache::Found::fresh);
}

class TransactionsLongStop : public LongStop {};

TEST_P(TransactionsLongStop, EachRequestEndsAndEachLookSendsItOnceAtMost) {
    mad::Transactions transactions(0xffff'ffc0);
    mad::Transactions::Actions actions;
    constexpr std::size_t requests = 200;
    for (std::size_t n = 0; n < requests; ++n) transactions.start({}, {}, {}, now, actions);
    std::size_t done = 0, looks = 0;
    for (; done < requests && looks < 100; ++looks) {
        actions.clear();
        now += GetParam();
        transactions.tick(now, actions);
        expect_sleep(transactions);
        EXPECT_LE(take<mad::Transactions::Send>(actions).size(), mad::Transactions::max_outstanding);
        for (const auto& each : take<mad::Transactions::Done>(actions)) {
            EXPECT_FALSE(each.response);
            ++done;
        }
    }
    EXPECT_EQ(done, requests);
    EXPECT_LE(looks, 4 * (mad::Patience{}.retries + 1)) << "four times 64 at once";
    EXPECT_EQ(transactions.outstanding(), 0u);
}

class MembershipLongStop : public LongStop {};

TEST_P(MembershipLongStop, ASilentAdministratorIsAskedOnceALookAndGrantsInTheEnd) {
    Membership membership;
    const Group group{.mlid = wire::Lid{0xc001}};
    auto asked = take<Membership::Ask>(membership.join(UserId{1}, wire::join_state::full_member, now));
    ASSERT_EQ(asked.size(), 1u);
    for (int look = 0; look < 100; ++look) {
        now += GetParam();
        // Sometimes the port tells that the subnet manager has come back, and sometimes that it is another one.
        const auto actions = look % 10 == 9 ? membership.lost(now) : membership.tick(now);
        expect_sleep(membership);
        EXPECT_LE(actions.size(), 1u);
        if (const auto again = take<Membership::Ask>(actions); !again.empty()) asked = again;
    }
    const auto granted = membership.answered(asked.back().id, SaStatus::ok, wire::join_state::full_member, group, now);
    ASSERT_EQ(take<Membership::Grant>(granted).size(), 1u);
    EXPECT_EQ(take<Membership::Grant>(granted)[0].group, group);
    EXPECT_FALSE(membership.deadline());
}

INSTANTIATE_TEST_SUITE_P(Each, PathsLongStop, ::testing::Values(minute, hour, day, 90 * day));
INSTANTIATE_TEST_SUITE_P(Each, TransactionsLongStop, ::testing::Values(minute, hour, day, 90 * day));
INSTANTIATE_TEST_SUITE_P(Each, MembershipLongStop, ::testing::Values(minute, hour, day, 90 * day));

}  // namespace
}  // namespace verbline::sa::long_stop

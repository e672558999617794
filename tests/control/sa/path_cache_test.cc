// SPDX-License-Identifier: BSD-3-Clause
#include "control/sa/path_cache.h"

#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace verbline::sa {
namespace {

constexpr wire::Gid gid_of(unsigned n) {
    return wire::Gid::of(wire::default_subnet_prefix, wire::Guid{n});
}
constexpr PathKey key(unsigned n) {
    return {.source = gid_of(0), .destination = gid_of(n)};
}
wire::PathRecord path(unsigned n, unsigned lid = 0) {
    return {.destination_gid = gid_of(n),
            .source_gid = gid_of(0),
            .destination_lid = wire::Lid{static_cast<std::uint16_t>(lid)}};
}
constexpr Failure absent{.status = SaStatus::no_records};
constexpr Failure silence{.reason = Failure::Reason::timed_out};

class PathCacheTest : public testing::Test {
protected:
    explicit PathCacheTest(const PathCacheLimits& limits = {.ttl = 1000,
                                                            .negative_ttl = 100,
                                                            .retry = 50,
                                                            .max_paths = 4,
                                                            .max_waiters = 3,
                                                            .max_revalidations = 2})
        : cache(limits) {}

    template <class T>
    std::vector<T> take() {
        std::vector<T> list;
        for (const auto& action : actions) {
            if (const auto* one = std::get_if<T>(&action)) list.push_back(*one);
        }
        return list;
    }
    void resolve(unsigned n, Time now, unsigned waiter = 1) {
        actions.clear();
        cache.resolve(key(n), Waiter{waiter}, now, actions);
    }
    void answer(std::uint64_t id, const PathCache::Answer& what, Time now) {
        actions.clear();
        cache.answered(id, what, now, actions);
    }
    /// A path known to the cache.
    void learn(unsigned n, Time now = 0) {
        resolve(n, now);
        const auto queries = take<PathCache::Query>();
        ASSERT_EQ(queries.size(), 1u);
        answer(queries[0].id, path(n), now);
    }
    PathCache::Found found(unsigned n, Time now) { return cache.find(key(n), now).found; }

    PathCache cache;
    PathCache::Actions actions;
};

TEST_F(PathCacheTest, CoalescesLookupsOfTheSameKey) {
    resolve(1, 0, 1);
    const auto queries = take<PathCache::Query>();
    ASSERT_EQ(queries.size(), 1u);
    EXPECT_EQ(queries[0].key, key(1));
    resolve(1, 0, 2);
    EXPECT_TRUE(actions.empty());
    resolve(1, 0, 3);
    resolve(1, 0, 4);
    ASSERT_EQ(take<PathCache::Failed>().size(), 1u) << "waiters are bounded";
    EXPECT_EQ(take<PathCache::Failed>()[0].why.reason, Failure::Reason::queue_full);
    answer(queries[0].id, path(1), 1);
    EXPECT_EQ(take<PathCache::Resolved>().size(), 3u);
    EXPECT_EQ(cache.counters().coalesced.value(), 2u);
    EXPECT_EQ(cache.counters().queries.value(), 1u);
    answer(queries[0].id, path(1, 9), 2);
    EXPECT_TRUE(actions.empty()) << "an answer counts once";
}

TEST_F(PathCacheTest, CountsHitsAndMissesPerPath) {
    resolve(1, 0, 1);
    resolve(1, 0, 2);
    answer(1, path(1), 0);
    for (int i = 0; i < 5; ++i) found(1, 10);
    cache.each(10, [](const PathCache::Shown& shown) {
        EXPECT_EQ(shown.misses, 2u);
        EXPECT_EQ(shown.hits, 5u);
    });
}

TEST_F(PathCacheTest, AnswersUntilTheTimeIsOver) {
    learn(1);
    EXPECT_EQ(found(1, 999), PathCache::Found::fresh);
    EXPECT_EQ(found(1, 1000), PathCache::Found::doubtful);
    EXPECT_EQ(found(2, 0), PathCache::Found::unknown);
}

TEST_F(PathCacheTest, AnExpiredPathAnswersWhileItIsAskedAboutAgain) {
    learn(1);
    resolve(1, 1500);
    ASSERT_EQ(take<PathCache::Resolved>().size(), 1u);
    EXPECT_TRUE(take<PathCache::Resolved>()[0].doubtful);
    const auto queries = take<PathCache::Query>();
    ASSERT_EQ(queries.size(), 1u);
    resolve(1, 1500);
    EXPECT_EQ(take<PathCache::Resolved>().size(), 1u);
    EXPECT_TRUE(take<PathCache::Query>().empty()) << "one query per key";
    answer(queries[0].id, path(1), 1501);
    EXPECT_TRUE(actions.empty()) << "nothing has changed, nobody waits, nothing more to ask";
    EXPECT_EQ(found(1, 1502), PathCache::Found::fresh);
}

TEST_F(PathCacheTest, AKnownPathOutlivesASilentSaAndIsAskedAboutSparingly) {
    learn(1);
    learn(2);
    learn(3);
    actions.clear();
    cache.doubt_all(10, actions);
    auto queries = take<PathCache::Query>();
    EXPECT_EQ(queries.size(), 2u) << "a few at a time";
    int asked = 0;
    for (Time now = 20; now < 1000; now += 10) {
        for (const auto& query : queries) answer(query.id, silence, now);
        queries.clear();
        EXPECT_EQ(found(1, now), PathCache::Found::doubtful);
        actions.clear();
        if (const auto deadline = cache.deadline(); deadline && *deadline <= now) cache.tick(now, actions);
        queries = take<PathCache::Query>();
        asked += static_cast<int>(queries.size());
        EXPECT_LE(queries.size(), 1u) << "one at a time";
    }
    EXPECT_LE(asked, 1000 / 50 + 1);
    EXPECT_GE(asked, 1000 / 80);
    // The SA is back: all that is in doubt is asked about.
    Time now = 2000;
    std::set<std::uint64_t> answered;
    for (int i = 0; i < 10; ++i) {
        actions.clear();
        if (const auto deadline = cache.deadline(); deadline && *deadline <= now) cache.tick(now, actions);
        auto next = take<PathCache::Query>();
        next.insert(next.end(), queries.begin(), queries.end());
        queries.clear();
        for (const auto& query : next) {
            answer(query.id, path(query.key == key(1) ? 1 : query.key == key(2) ? 2 : 3), now);
            const auto more = take<PathCache::Query>();
            queries.insert(queries.end(), more.begin(), more.end());
        }
    }
    for (unsigned n = 1; n <= 3; ++n) EXPECT_EQ(found(n, now), PathCache::Found::fresh) << n;
}

TEST_F(PathCacheTest, AfterASilenceTheFirstAnswerOpensTheWayForTheRest) {
    for (unsigned n = 1; n <= 3; ++n) learn(n);
    actions.clear();
    cache.doubt(gid_of(1), 0, actions);
    answer(take<PathCache::Query>().at(0).id, silence, 1);
    EXPECT_EQ(cache.deadline(), 1 + 50);
    actions.clear();
    cache.doubt(gid_of(0), 2, actions);
    EXPECT_TRUE(actions.empty());
    cache.tick(51, actions);
    ASSERT_EQ(take<PathCache::Query>().size(), 1u);
    EXPECT_FALSE(cache.deadline()) << "nothing to do before the answer comes";
    const auto id = take<PathCache::Query>()[0].id;
    answer(id, path(1), 52);
    EXPECT_EQ(take<PathCache::Query>().size(), 2u);
}

TEST_F(PathCacheTest, AnEventOfTheSubnetManagerEndsTheSilence) {
    learn(1);
    actions.clear();
    cache.doubt(gid_of(1), 0, actions);
    answer(take<PathCache::Query>().at(0).id, silence, 1);
    actions.clear();
    cache.doubt_all(2, actions);
    EXPECT_EQ(take<PathCache::Query>().size(), 1u) << "it is there to be asked";
}

TEST_F(PathCacheTest, CachesNegativeAnswersBriefly) {
    resolve(1, 0);
    answer(take<PathCache::Query>().at(0).id, absent, 0);
    ASSERT_EQ(take<PathCache::Failed>().size(), 1u);
    resolve(1, 99);
    EXPECT_EQ(take<PathCache::Failed>().at(0).why, absent);
    EXPECT_TRUE(take<PathCache::Query>().empty());
    EXPECT_EQ(cache.counters().negative_hits.value(), 1u);
    resolve(1, 100);
    EXPECT_EQ(take<PathCache::Query>().size(), 1u);
}

TEST_F(PathCacheTest, SilenceIsNotRememberedAsAbsence) {
    resolve(1, 0);
    answer(take<PathCache::Query>().at(0).id, silence, 0);
    EXPECT_EQ(take<PathCache::Failed>().at(0).why, silence);
    EXPECT_EQ(cache.size(), 0u);
    resolve(1, 1);
    EXPECT_EQ(take<PathCache::Query>().size(), 1u);
}

TEST_F(PathCacheTest, NotifiesCopiesOfChangedPaths) {
    learn(1);
    actions.clear();
    cache.doubt_all(1, actions);
    answer(take<PathCache::Query>().at(0).id, path(1, 7), 2);
    ASSERT_EQ(take<PathCache::Change>().size(), 1u);
    EXPECT_EQ(take<PathCache::Change>()[0].path, path(1, 7));
    actions.clear();
    cache.doubt(gid_of(1), 3, actions);
    answer(take<PathCache::Query>().at(0).id, absent, 4);
    ASSERT_EQ(take<PathCache::Change>().size(), 1u);
    EXPECT_FALSE(take<PathCache::Change>()[0].path);
    EXPECT_EQ(found(1, 5), PathCache::Found::absent);
}

TEST_F(PathCacheTest, InvalidatesOnlyPathsOfThePort) {
    learn(1);
    learn(2);
    actions.clear();
    cache.doubt(gid_of(1), 1, actions);
    EXPECT_EQ(found(1, 1), PathCache::Found::doubtful);
    EXPECT_EQ(found(2, 1), PathCache::Found::fresh);
    EXPECT_EQ(cache.counters().invalidated.value(), 1u);
    cache.doubt(gid_of(0), 2, actions);
    EXPECT_EQ(found(2, 2), PathCache::Found::doubtful) << "the source counts as well";
}

TEST_F(PathCacheTest, APortThatCameIntoServiceIsNotAbsentAnyMore) {
    resolve(1, 0);
    answer(take<PathCache::Query>().at(0).id, absent, 0);
    actions.clear();
    cache.doubt(gid_of(1), 1, actions);
    EXPECT_EQ(found(1, 1), PathCache::Found::unknown);
}

TEST_F(PathCacheTest, AnAnswerWrittenBeforeTheEventIsNotTrusted) {
    resolve(1, 0);
    const auto id = take<PathCache::Query>().at(0).id;
    actions.clear();
    cache.doubt(gid_of(1), 1, actions);  // it comes into service while the SA still says no
    answer(id, absent, 2);
    EXPECT_TRUE(take<PathCache::Failed>().empty());
    ASSERT_EQ(take<PathCache::Query>().size(), 1u);
    const auto again = take<PathCache::Query>()[0].id;
    answer(again, path(1), 3);
    EXPECT_EQ(take<PathCache::Resolved>().size(), 1u);

    actions.clear();
    cache.doubt_all(4, actions);
    const auto third = take<PathCache::Query>().at(0).id;
    actions.clear();
    cache.doubt_all(5, actions);
    answer(third, path(1), 6);
    EXPECT_EQ(found(1, 6), PathCache::Found::doubtful);
    EXPECT_EQ(take<PathCache::Query>().size(), 1u);
}

TEST_F(PathCacheTest, EvictsLeastRecentlyUsed) {
    for (unsigned n = 1; n <= 4; ++n) learn(n);
    EXPECT_EQ(found(1, 1), PathCache::Found::fresh);  // used now: 2 is the oldest
    resolve(5, 1);
    ASSERT_EQ(take<PathCache::Change>().size(), 1u) << "nobody would tell of its changes any more";
    EXPECT_EQ(take<PathCache::Change>()[0].key, key(2));
    EXPECT_FALSE(take<PathCache::Change>()[0].path);
    EXPECT_EQ(cache.size(), 4u);
    EXPECT_EQ(found(1, 1), PathCache::Found::fresh);
    EXPECT_EQ(found(2, 1), PathCache::Found::unknown);
}

TEST_F(PathCacheTest, RejectsLookupWhenAllEntriesArePending) {
    for (unsigned n = 1; n <= 4; ++n) resolve(n, 0);
    resolve(5, 0);
    ASSERT_EQ(take<PathCache::Failed>().size(), 1u);
    EXPECT_EQ(cache.counters().rejected_full.value(), 1u);
}

TEST_F(PathCacheTest, KeysDifferInEveryPart) {
    learn(1);
    auto other = key(1);
    other.pkey = wire::PKey{0x8001};
    EXPECT_EQ(cache.find(other, 0).found, PathCache::Found::unknown);
    other = key(1);
    other.service_level = 3;
    EXPECT_EQ(cache.find(other, 0).found, PathCache::Found::unknown);
    other = key(1);
    other.source = gid_of(9);
    EXPECT_EQ(cache.find(other, 0).found, PathCache::Found::unknown);
}

TEST(PathKeyHash, SpreadsKeysThatDifferInOneByte) {
    std::set<std::size_t> low_bits;
    for (unsigned n = 0; n < 4096; ++n) low_bits.insert(PathKeyHash{}(key(n)) & 0xffff);
    EXPECT_GT(low_bits.size(), 3800u) << "as many collisions as chance has";
}

/// Requests, events and outages at random. The SA is a map; what it says may be lost.
class PathCacheSim : public testing::TestWithParam<unsigned> {};

TEST_P(PathCacheSim, EveryWaiterIsAnsweredOnceAndCopiesEndUpRight) {
    std::mt19937 random(GetParam());
    const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
    PathCache cache({.ttl = 5000, .negative_ttl = 300, .retry = 100, .max_paths = 8, .max_revalidations = 3});
    PathCache::Actions actions;
    std::map<unsigned, unsigned> sa;                         // which paths exist, and their LIDs
    std::map<unsigned, wire::PathRecord> copies;             // of a user who does as Paths says
    std::map<std::uint64_t, std::pair<Time, unsigned>> out;  // queries: when their answer comes
    std::set<std::uint64_t> waiting;
    std::map<std::uint64_t, unsigned> asked_for;
    std::uint64_t last_waiter = 0;
    bool sm = true;
    Time now = 0;

    const auto number = [](const PathKey& k) { return static_cast<unsigned>(k.destination.interface_id()); };
    const auto play = [&] {
        for (const auto& action : std::exchange(actions, {})) {
            if (const auto* query = std::get_if<PathCache::Query>(&action)) {
                for (const auto& [id, other] : out) ASSERT_NE(other.second, number(query->key)) << "single flight";
                out[query->id] = {now + 1 + random() % 50, number(query->key)};
            } else if (const auto* resolved = std::get_if<PathCache::Resolved>(&action)) {
                ASSERT_EQ(waiting.erase(static_cast<std::uint64_t>(resolved->waiter)), 1u);
                copies[asked_for[static_cast<std::uint64_t>(resolved->waiter)]] = resolved->path;
            } else if (const auto* failed = std::get_if<PathCache::Failed>(&action)) {
                ASSERT_EQ(waiting.erase(static_cast<std::uint64_t>(failed->waiter)), 1u);
            } else if (const auto& change = std::get<PathCache::Change>(action); change.path) {
                copies[number(change.key)] = *change.path;
            } else {
                copies.erase(number(change.key));
            }
        }
    };
    const auto run = [&](Time until) {
        for (; now < until; now += 1 + random() % 5) {
            std::vector<std::pair<std::uint64_t, unsigned>> due;
            for (const auto& [id, when] : out) {
                if (when.first <= now) due.emplace_back(id, when.second);
            }
            for (const auto& [id, n] : due) {
                out.erase(id);
                const bool lost = !sm || chance(5);
                const auto known = sa.find(n);
                cache.answered(id,
                               lost                ? PathCache::Answer(silence)
                               : known == sa.end() ? PathCache::Answer(absent)
                                                   : PathCache::Answer(path(n, known->second)),
                               now, actions);
                play();
            }
            if (const auto deadline = cache.deadline(); deadline && *deadline <= now) cache.tick(now, actions);
            play();
            ASSERT_LE(cache.size(), 8u);
        }
    };
    for (int step = 0; step < 400 && !HasFatalFailure(); ++step) {
        const unsigned n = 1 + random() % 12;
        if (chance(60)) {
            waiting.insert(++last_waiter);
            asked_for[last_waiter] = n;
            cache.resolve(key(n), Waiter{last_waiter}, now, actions);
            play();
        } else if (chance(50)) {  // the port's path changes, comes or goes, and the SA says so
            if (chance(30))
                sa.erase(n);
            else
                sa[n] = random() % 1000;
            cache.doubt(gid_of(n), now, actions);
            play();
        } else if (chance(20)) {
            sm = !sm;
            if (sm) cache.doubt_all(now, actions);
            play();
        }
        run(now + static_cast<Time>(random() % 60));
    }
    sm = true;
    for (int i = 0; i < 40 && !HasFatalFailure(); ++i) {
        run(now + 200);
    }
    EXPECT_TRUE(waiting.empty()) << "every waiter was answered";
    for (const auto& [n, copy] : copies) {
        ASSERT_TRUE(sa.contains(n)) << "a copy of a path that is gone: " << n;
        EXPECT_EQ(copy, path(n, sa[n])) << "a copy of a path that has changed: " << n;
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PathCacheSim, testing::Range(0u, 1000u));

}  // namespace
}  // namespace verbline::sa

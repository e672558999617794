// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the SA said of paths, kept so that it need not be asked again: one SA serves all nodes of a subnet, and a query
/// costs some hundred thousand times a hit.
///
/// Every key is in one of four conditions:
///
///     unknown ──resolve──> asked ──record──> fresh ──TTL, invalidate──> doubtful ──record──> fresh
///                            │                                            │
///                            └──────── the SA has no such path ───────────┴──> absent ──TTL──> unknown
///
/// A doubtful path still answers: while it is asked about again, and for as long as the SA does not answer at all, so
/// that traffic on known paths outlives an outage of the subnet manager. When the SA then says otherwise, a Change goes
/// to whoever keeps copies.
///
/// There is one query per key at any time; those who ask meanwhile wait for the same answer. Doubtful paths are asked
/// about again a few at a time, and while the SA is silent one at a time.
///
/// Pure: no I/O, no clock. Time is the caller's, in nanoseconds. `find` allocates nothing.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

#include "control/sa/path_key.h"
#include "control/sa/status.h"
#include "datapath/wire/path_record.h"
#include "pmd/base/counter.h"
#include "pmd/base/time.h"
#include "pmd/base/tunables.h"

namespace verbline::sa {

struct PathCacheLimits {
    Time ttl = tunables::path_lifetime;              ///< of a path; events make it doubtful sooner
    Time negative_ttl = tunables::no_path_lifetime;  ///< of "there is no such path"
    Time retry = second;                             ///< between questions to an SA that is silent
    std::size_t max_paths = tunables::cached_paths;
    std::size_t max_waiters = 1024;      ///< for one key
    std::size_t max_revalidations = 16;  ///< questions out about doubtful paths
};

#define VERBLINE_PATH_CACHE_COUNTERS(X)                            \
    X(hits, "lookups answered with a path")                        \
    X(misses, "lookups of a path not known")                       \
    X(negative_hits, "lookups answered with: no such path")        \
    X(stale_hits, "lookups answered with a path that is in doubt") \
    X(coalesced, "requests that joined a query already out")       \
    X(queries, "questions to the subnet administrator")            \
    X(revalidations, "of these, questions about a path in doubt")  \
    X(timeouts, "questions without an answer")                     \
    X(changed, "paths in doubt that turned out changed or gone")   \
    X(invalidated, "paths put in doubt by an event")               \
    X(evicted, "paths forgotten to make room")                     \
    X(rejected_full, "requests refused because the cache or a queue of it is full")
struct PathCacheCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_PATH_CACHE_COUNTERS)
};

enum class Waiter : std::uint64_t {};  ///< names one request to its caller

class PathCache {
public:
    enum class Found : std::uint8_t { unknown, fresh, doubtful, absent };
    struct Lookup {
        Found found;
        const wire::PathRecord* path;  ///< if fresh or doubtful; until the next call that is not `find`
    };

    /// Ask the SA for a path; hand what it says to `answered` under the same id.
    struct Query {
        std::uint64_t id;
        PathKey key;
    };
    struct Resolved {
        Waiter waiter;
        wire::PathRecord path;
        bool doubtful;
    };
    struct Failed {
        Waiter waiter;
        Failure why;
    };
    /// A path that was handed out is no longer so: the new one, or none. None also when it was evicted: nobody would
    /// say when it changes.
    struct Change {
        PathKey key;
        std::optional<wire::PathRecord> path;
    };
    using Action = std::variant<Query, Resolved, Failed, Change>;
    using Actions = std::vector<Action>;
    using Answer = std::variant<wire::PathRecord, Failure>;

    explicit PathCache(const PathCacheLimits& limits = {}) : limits_(limits) {}

    /// What is known now. Asks nobody; an answer other than fresh deserves a `resolve`.
    Lookup find(const PathKey& key, Time now);
    /// Resolved or Failed follows for `waiter`, at once or when the SA has answered.
    void resolve(const PathKey& key, Waiter waiter, Time now, Actions& out);
    void answered(std::uint64_t id, const Answer& answer, Time now, Actions& out);

    /// Everything is in doubt: SM change, LID change, client reregister.
    void doubt_all(Time now, Actions& out);
    /// All paths of a port are in doubt, and that there are none: it came into service or left it (traps 64, 65).
    void doubt(const wire::Gid& gid, Time now, Actions& out);

    /// Call at or after `deadline()`.
    void tick(Time now, Actions& out);
    std::optional<Time> deadline() const;

    std::size_t size() const { return entries_.size(); }
    const PathCacheCounters& counters() const { return counters_; }

    struct Shown {
        PathKey key;
        Found found;
        std::optional<wire::PathRecord> path;
        Time expires;                ///< may have passed
        std::uint64_t hits, misses;  ///< lookups of this path that found it, that did not
    };
    void each(Time now, const std::function<void(const Shown&)>& visit) const;

private:
    struct Entry {
        std::optional<wire::PathRecord> path;
        std::optional<Failure> absent;  ///< the SA says that there is none
        bool doubtful = false;
        bool queued = false;             ///< waits for its revalidation
        bool used = false;               ///< since it last was at the back of ages_
        std::uint64_t query = 0;         ///< the one that is out; 0: none
        bool doubted_meanwhile = false;  ///< since the query left: its answer may be of the time before
        Time expires = 0;
        std::uint64_t hits = 0, misses = 1;  ///< an entry is made by a miss
        std::vector<Waiter> waiters;
        std::list<PathKey>::iterator age;  ///< place in ages_
    };

    Entry* make(const PathKey& key, Actions& out);
    bool evict_one(Actions& out);
    void forget(const PathKey& key);
    static Found condition(const Entry& entry, Time now);
    void ask(const PathKey& key, Entry& entry, Actions& out);
    void put_in_doubt(const PathKey& key, Entry& entry);
    void want_revalidation(const PathKey& key, Entry& entry);
    void pump(Time now, Actions& out);
    void store(const PathKey& key, Entry& entry, const wire::PathRecord& path, Time now, Actions& out);
    void store_absence(const PathKey& key, Entry& entry, const Failure& why, Time now, Actions& out);
    void unanswered(const PathKey& key, Entry& entry, const Failure& why, Actions& out);

    PathCacheLimits limits_;
    PathCacheCounters counters_;
    std::unordered_map<PathKey, Entry, PathKeyHash> entries_;
    std::list<PathKey> ages_;  ///< the order of eviction: from the back, but what was used goes round once more
    struct Question {
        PathKey key;
        bool revalidation;
    };
    std::unordered_map<std::uint64_t, Question> queries_;  ///< out, by id
    std::deque<PathKey> revalidations_;                    ///< doubtful, to be asked about; may name the forgotten
    std::size_t revalidating_ = 0;                         ///< of the queries out, those about a path in doubt
    std::uint64_t last_query_ = 0;
    std::optional<Time> silent_until_;  ///< the SA does not answer: one question, not before
};

}  // namespace verbline::sa

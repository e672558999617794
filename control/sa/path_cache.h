// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Cache of the SA's path records: one SA serves all nodes of a subnet, and a query costs some hundred thousand times
/// as much as a hit.
///
/// States of a key:
///
///     unknown ──resolve──> asked ──record──> fresh ──TTL, invalidate──> doubtful ──record──> fresh
///                            │                                            │
///                            └──────── the SA has no such path ───────────┴──> absent ──TTL──> unknown
///
/// A doubtful path still answers: while it is revalidated, and as long as the SA does not answer at all, so that
/// traffic on known paths survives an outage of the subnet manager. If the SA's answer differs, a Change is emitted for
/// users that keep copies.
///
/// At most one query per key is outstanding; requests in the meantime wait for its answer. Only a few doubtful paths
/// are revalidated at a time, and only one while the SA is silent.
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
    Time retry = second;                             ///< between queries to an SA that does not answer
    std::size_t max_paths = tunables::cached_paths;
    std::size_t max_waiters = 1024;      ///< for one key
    std::size_t max_revalidations = 16;  ///< outstanding queries about doubtful paths
};

#define VERBLINE_PATH_CACHE_COUNTERS(X)                              \
    X(hits, "lookups answered with a path")                          \
    X(misses, "lookups of a path not known")                         \
    X(negative_hits, "lookups answered with: no such path")          \
    X(stale_hits, "lookups answered with a path that is in doubt")   \
    X(coalesced, "requests that joined a query already out")         \
    X(queries, "PathRecord queries to the subnet administrator")     \
    X(revalidations, "of these, queries to revalidate a path")       \
    X(timeouts, "queries without a response")                        \
    X(changed, "revalidated paths that had changed or were removed") \
    X(invalidated, "paths put in doubt by an event")                 \
    X(evicted, "paths evicted to make room")                         \
    X(rejected_full, "requests refused because the cache or a queue of it is full")
struct PathCacheCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_PATH_CACHE_COUNTERS)
};

enum class Waiter : std::uint64_t {};  ///< identifies a request to its caller

class PathCache {
public:
    enum class Found : std::uint8_t { unknown, fresh, doubtful, absent };
    struct Lookup {
        Found found;
        const wire::PathRecord* path;  ///< if fresh or doubtful; valid until the next call other than `find`
    };

    /// Query the SA for a path; pass its answer to `answered` with the same id.
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
    /// A path that was returned before has changed, or was removed (none). Also none when it was evicted, since later
    /// changes would not be reported.
    struct Change {
        PathKey key;
        std::optional<wire::PathRecord> path;
    };
    using Action = std::variant<Query, Resolved, Failed, Change>;
    using Actions = std::vector<Action>;
    using Answer = std::variant<wire::PathRecord, Failure>;

    explicit PathCache(const PathCacheLimits& limits = {}) : limits_(limits) {}

    /// Looks up without a query; call `resolve` unless the result is fresh.
    Lookup find(const PathKey& key, Time now);
    /// Emits Resolved or Failed for `waiter`, at once or when the SA has answered.
    void resolve(const PathKey& key, Waiter waiter, Time now, Actions& out);
    void answered(std::uint64_t id, const Answer& answer, Time now, Actions& out);

    /// Puts all paths in doubt: SM change, LID change, client reregister.
    void doubt_all(Time now, Actions& out);
    /// Puts all paths and negative entries of a port in doubt: it came into or went out of service (traps 64, 65).
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
        std::uint64_t hits, misses;  ///< lookups of this key
    };
    void each(Time now, const std::function<void(const Shown&)>& visit) const;

private:
    struct Entry {
        std::optional<wire::PathRecord> path;
        std::optional<Failure> absent;  ///< negative entry
        bool doubtful = false;
        bool queued = false;             ///< in `revalidations_`
        bool used = false;               ///< since it last was at the back of ages_
        std::uint64_t query = 0;         ///< outstanding query; 0: none
        bool doubted_meanwhile = false;  ///< put in doubt since the query was sent: its answer may be outdated
        Time expires = 0;
        std::uint64_t hits = 0, misses = 1;  ///< created by a miss
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
    std::list<PathKey> ages_;  ///< eviction order, from the back; used entries get a second chance
    struct Question {
        PathKey key;
        bool revalidation;
    };
    std::unordered_map<std::uint64_t, Question> queries_;  ///< outstanding, by id
    std::deque<PathKey> revalidations_;                    ///< doubtful keys to revalidate; may name erased ones
    std::size_t revalidating_ = 0;                         ///< outstanding queries about doubtful paths
    std::uint64_t last_query_ = 0;
    std::optional<Time> silent_until_;  ///< the SA is silent: next query not before this
};

}  // namespace verbline::sa

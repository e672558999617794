// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Resolves paths from one port: the cache in front of the SA client.
///
/// Owned by the control thread; lifetime as its client's.

#include <expected>
#include <functional>
#include <optional>
#include <unordered_map>

#include "control/loop/loop.h"
#include "control/sa/client.h"
#include "control/sa/observers.h"
#include "control/sa/path_cache.h"

namespace verbline::sa {

class Paths {
public:
    using Handler = std::function<void(const Answer<wire::PathRecord>&)>;
    using ChangeHandler = std::function<void(const PathKey&, const std::optional<wire::PathRecord>&)>;

    Paths(Client& client, control::Loop& loop, const PathCacheLimits& limits = {});
    Paths(const Paths&) = delete;
    Paths& operator=(const Paths&) = delete;

    /// Key of a path from our port, any service level.
    PathKey key(const wire::Gid& destination, wire::PKey pkey) const;
    /// The handler is called once: before this returns on a cache hit, else when the SA has answered.
    void resolve(const PathKey& key, Handler handler);
    /// Required for users that keep resolved paths: called when one changes. No path: it is gone, or no longer tracked
    /// (evicted).
    [[nodiscard]] Observation on_change(ChangeHandler handler) { return changed_.add(std::move(handler)); }

    void doubt_all();
    void doubt(const wire::Gid& gid);

    PathCache& cache() { return cache_; }
    const PathCache& cache() const { return cache_; }

private:
    void perform(const PathCache::Actions& actions);
    void query(const PathCache::Query& query);
    void answer(Waiter waiter, const Answer<wire::PathRecord>& answer);
    void arm();

    Client& client_;
    control::Loop& loop_;
    PathCache cache_;
    std::unordered_map<std::uint64_t, Handler> handlers_;
    std::uint64_t last_waiter_ = 0;
    Observers<PathKey, std::optional<wire::PathRecord>> changed_;
    control::Timer timer_;
};

}  // namespace verbline::sa

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The gateway's shards, and the lcores that poll them, one each.

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "control/router/shard_links.h"
#include "datapath/router/shard.h"
#include "pmd/base/error.h"
#include "pmd/worker_lcore.h"

namespace verbline::gateway {

class Shards {
public:
    using Workers = std::deque<pmd::WorkerLcore>;

    /// A shard for each of `links`, made of `common` and what is its own: its number, its queues and its rings. The
    /// links and as many workers must outlive the object.
    Shards(const router::ShardSetup& common, const router::ShardLinks& links, Workers& workers);
    Shards(const Shards&) = delete;
    Shards& operator=(const Shards&) = delete;
    /// Stops them.
    ~Shards();

    /// From now on, the workers poll.
    Result<void> start();
    /// Returns when no worker polls any more.
    void stop();

    std::size_t size() const { return shards_.size(); }
    const router::Shard& operator[](std::size_t shard) const { return *shards_[shard]; }
    unsigned lcore(std::size_t shard) const { return workers_[shard].lcore(); }

private:
    const router::ShardLinks& links_;
    Workers& workers_;
    std::vector<std::unique_ptr<router::Shard>> shards_;
};

}  // namespace verbline::gateway

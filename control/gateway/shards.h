// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The gateway's shards, and the lcores that poll them, one each. Says when one of them stands still.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "control/router/shard_links.h"
#include "datapath/router/shard.h"
#include "pmd/base/error.h"
#include "pmd/packet_pools.h"
#include "pmd/shard/stall_watch.h"
#include "pmd/worker_lcore.h"

namespace verbline::gateway {

class Shards {
public:
    using Workers = std::deque<pmd::WorkerLcore>;

    /// A shard for each of `links`, made of `common` and what is its own: its number, its queues, its rings and its
    /// pool, and its trace if there is one. The links, as many workers and the traces must outlive the object. Each
    /// lies on the NUMA socket of its worker.
    Shards(const router::ShardSetup& common, const router::ShardLinks& links, const pmd::PacketPools& pools,
           Workers& workers, std::span<pmd::TraceRing* const> traces = {});
    Shards(const Shards&) = delete;
    Shards& operator=(const Shards&) = delete;
    /// Stops them.
    ~Shards();

    /// From now on, the workers poll.
    Result<void> start();
    /// Returns when no worker polls any more, and all commands are carried out.
    void stop();
    /// Calls `report` with one line when a shard stands still, and when it goes on. Call every 100 ms or so.
    void look_after(Time now, const std::function<void(const std::string&)>& report);

    /// Whether none of them stands still.
    bool all_poll() const;

    /// Times that a shard had no room for a neighbour.
    std::uint64_t neighbours_refused() const;

    std::size_t size() const { return shards_.size(); }
    const router::Shard& operator[](std::size_t shard) const { return *shards_[shard]; }
    unsigned lcore(std::size_t shard) const { return workers_[shard].lcore(); }
    /// The NUMA sockets of the workers' CPUs; pmd::any_numa_socket for one whose CPUs are of several.
    static std::vector<int> sockets(const Workers& workers);
    int socket(std::size_t shard) const;
    const pmd::StallWatch& watch(std::size_t shard) const { return watches_[shard]; }

private:
    static constexpr unsigned last_polls = 8;  ///< of some commands each

    void finish();

    const router::ShardLinks& links_;
    Workers& workers_;
    std::vector<std::unique_ptr<router::Shard>> shards_;
    std::deque<pmd::StallWatch> watches_;  ///< by shard
    bool started_ = false;
};

}  // namespace verbline::gateway

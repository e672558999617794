// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The hub's shards: a lcore for each, on which its part of the switch is polled.

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <string>

#include <fmt/format.h>

#include "pmd/base/error.h"
#include "pmd/bridge/switch.h"
#include "pmd/shard/stall_watch.h"
#include "pmd/worker_lcore.h"

namespace verbline::cli {

class HubShards {
public:
    using Workers = std::deque<pmd::WorkerLcore>;

    /// The switch has a shard for each worker. Both must outlive the object.
    HubShards(pmd::Switch& fabric, Workers& workers) : fabric_(fabric), workers_(workers), watches_(workers.size()) {}
    HubShards(const HubShards&) = delete;
    HubShards& operator=(const HubShards&) = delete;
    /// Stops them.
    ~HubShards() {
        for (auto& worker : workers_) worker.request_stop();
        fabric_.wake();
        for (auto& worker : workers_) worker.join();
    }

    /// From now on, the workers poll.
    Result<void> start() {
        for (unsigned i = 0; i < workers_.size(); ++i) {
            auto started = workers_[i].start([this, i](const std::atomic<bool>& stop) { fabric_.run(stop, i); });
            if (!started) return started;
        }
        started_ = true;
        return {};
    }
    /// Calls `report` with one line when a shard stands still, and when it goes on. Call a few times a second.
    void look_after(Time now, const std::function<void(const std::string&)>& report) {
        for (unsigned i = 0; started_ && i < workers_.size(); ++i) {
            const auto line =
                watches_[i].report(fmt::format("shard {} (lcore {})", i, lcore(i)), fabric_.polls(i).polls(), now);
            if (line) report(*line);
        }
    }

    /// Whether none of them stands still.
    bool all_poll() const {
        return std::ranges::none_of(watches_, [](const auto& watch) { return watch.standing().has_value(); });
    }

    unsigned lcore(unsigned shard) const { return workers_[shard].lcore(); }
    const pmd::StallWatch& watch(unsigned shard) const { return watches_[shard]; }

private:
    pmd::Switch& fabric_;
    Workers& workers_;
    std::deque<pmd::StallWatch> watches_;
    bool started_ = false;
};

}  // namespace verbline::cli

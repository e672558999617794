// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A device's shards, each polled by an lcore of its own: every worker lcore of the EAL arguments. Without any, the
/// main thread polls the only shard.

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <rte_lcore.h>

#include <fmt/format.h>

#include "apps/rdma_ping/must.h"
#include "datapath/rdma/device.h"
#include "pmd/base/clock.h"
#include "pmd/shard/poll_meter.h"
#include "pmd/worker_lcore.h"

namespace verbline::rdma_ping {

/// The lcores that poll: one for each shard. Empty: there is no worker.
inline std::vector<unsigned> worker_lcores() {
    std::vector<unsigned> workers;
    unsigned lcore = 0;
    RTE_LCORE_FOREACH_WORKER(lcore) workers.push_back(lcore);
    return workers;
}

class Shards {
public:
    /// Starts polling. The device must outlive the object.
    Shards(rdma::Device& device, const std::vector<unsigned>& lcores) : device_(device) {
        for (const auto lcore : lcores) workers_.emplace_back(lcore);
        meters_.resize(device.shards());
        for (unsigned shard = 0; shard < workers_.size(); ++shard) {
            must(workers_[shard].start([this, shard](const std::atomic<bool>& stop) {
                while (!stop.load(std::memory_order_relaxed)) poll(shard);
            }));
        }
    }

    /// For the main thread, which waits for completions.
    void poll() { workers_.empty() ? poll(0) : std::this_thread::yield(); }

    /// What each has done, a line each: `pairs` by shard.
    void print(const std::vector<unsigned>& pairs) const {
        for (unsigned shard = 0; shard < workers_.size(); ++shard) {
            fmt::print("shard {}, lcore {}: {} queue pairs, {}\n", shard, workers_[shard].lcore(), pairs[shard],
                       work_of(shard));
        }
    }

private:
    void poll(unsigned shard) {
        auto& meter = meters_[shard];
        meter.begin_poll();
        const bool busy = device_.poll(shard, monotonic_now());
        meter.end_poll(busy);
        if (!busy) std::this_thread::yield();
    }

    std::uint64_t counter(unsigned shard, std::string_view name) const {
        std::uint64_t found = 0;
        device_.counters(shard, [&](std::string_view each, std::uint64_t value, std::string_view) {
            if (each == name) found = value;
        });
        return found;
    }
    std::string work_of(unsigned shard) const {
        const auto ratio = [](std::uint64_t part, std::uint64_t whole) {
            return whole == 0 ? 0. : static_cast<double>(part) / static_cast<double>(whole);
        };
        const auto& time = meters_[shard].counters();
        const auto busy = time.busy_cycles.value(), packets = counter(shard, "rx_packets");
        return fmt::format("{} packets received, {:.1f} in a burst, {:.0f} cycles each, busy {:.1f} %, {} handed over",
                           packets, ratio(counter(shard, "rx_burst_packets"), counter(shard, "rx_bursts")),
                           ratio(busy, packets), 100 * ratio(busy, busy + time.idle_cycles.value()),
                           counter(shard, "rx_handed_over"));
    }

    rdma::Device& device_;
    std::deque<pmd::PollMeter> meters_;
    std::deque<pmd::WorkerLcore> workers_;  // last: they end before what they use
};

}  // namespace verbline::rdma_ping

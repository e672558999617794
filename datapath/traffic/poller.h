// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An lcore that polls tasks in turns, and what it does with its time.

#include <vector>

#include "datapath/traffic/task.h"
#include "pmd/base/error.h"
#include "pmd/shard/poll_meter.h"
#include "pmd/worker_lcore.h"

namespace verbline::traffic {

/// Used by the thread of the main lcore.
class Poller {
public:
    explicit Poller(unsigned lcore) : worker_(lcore) {}

    /// Before `start`. The task outlives the poller.
    void add(Task& task) { tasks_.push_back(&task); }
    /// EBUSY: the lcore runs something already.
    Result<void> start();
    void request_stop() { worker_.request_stop(); }
    void join() { worker_.join(); }

    unsigned lcore() const { return worker_.lcore(); }
    const pmd::PollCounters& counters() const { return meter_.counters(); }

private:
    std::vector<Task*> tasks_;
    pmd::PollMeter meter_;
    pmd::WorkerLcore worker_;  // last: it ends before what it uses
};

}  // namespace verbline::traffic

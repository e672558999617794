// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A worker lcore of DPDK, on which a poll loop runs.

#include <atomic>
#include <cerrno>
#include <functional>
#include <utility>

#include <rte_launch.h>

#include "pmd/base/error.h"

namespace verbline::pmd {

/// Used by the thread of the main lcore. DPDK must outlive it.
class WorkerLcore {
public:
    /// Returns soon after `stop` is set; what ends its sleeps is called after `request_stop`.
    using Work = std::function<void(const std::atomic<bool>& stop)>;

    explicit WorkerLcore(unsigned lcore) : lcore_(lcore) {}
    WorkerLcore(const WorkerLcore&) = delete;
    WorkerLcore& operator=(const WorkerLcore&) = delete;
    ~WorkerLcore() {
        request_stop();
        join();
    }

    /// Runs `work` on the lcore. EBUSY: it runs something already.
    Result<void> start(Work work) {
        if (rte_eal_get_lcore_state(lcore_) != WAIT) return busy();
        work_ = std::move(work);
        stop_ = false;
        const auto entry = [](void* self) {
            auto& worker = *static_cast<WorkerLcore*>(self);
            worker.work_(worker.stop_);
            return 0;
        };
        if (rte_eal_remote_launch(entry, this, lcore_) != 0) return busy();
        return {};
    }
    unsigned lcore() const { return lcore_; }
    void request_stop() { stop_ = true; }
    /// Waits until the lcore has returned from the work, if there was any.
    void join() { rte_eal_wait_lcore(lcore_); }

private:
    static Result<void> busy() { return failure(EBUSY, "the worker lcore is busy"); }

    unsigned lcore_;
    Work work_;
    std::atomic<bool> stop_{false};
};

}  // namespace verbline::pmd

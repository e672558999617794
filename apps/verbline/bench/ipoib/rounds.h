// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// All rounds of a plan, one slice after the other: in each round every case goes over every link.

#include <atomic>
#include <cstddef>

#include "apps/verbline/bench/ipoib/ports.h"
#include "apps/verbline/bench/ipoib/results.h"

namespace verbline::ipoib_bench {

/// Runs on a thread of DPDK's; others may read `done`.
class Rounds {
public:
    /// Both outlive it.
    Rounds(const IpoibPlan& plan, Ports& ports) : plan_(plan), ports_(ports), results_(plan) {}

    /// ECANCELED: `stop` was set before the first round was through. Else as Course::run.
    Result<void> run(const std::atomic<bool>& stop);

    const Results& results() const { return results_; }
    /// Slices so far, and in all.
    std::size_t done() const { return done_.load(std::memory_order_relaxed); }
    std::size_t all() const { return plan_.rounds * plan_.cases.size() * plan_.links.size(); }

private:
    Result<void> prepare();
    Result<void> run_round(bool backwards, const std::atomic<bool>& stop);

    const IpoibPlan& plan_;
    Ports& ports_;
    Results results_;
    std::vector<Packets> packets_;  ///< of each case
    std::vector<Ends> ends_;        ///< of each link
    std::atomic<std::size_t> done_{0};
};

}  // namespace verbline::ipoib_bench

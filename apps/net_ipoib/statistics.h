// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A port's counters as DPDK shows them: they grow over restarts of the port, in which its parts are made anew, and
/// begin again at zero when the program says so.
///
/// Owned by the thread that controls the port.

#include <cstdint>
#include <map>
#include <string>

#include "pmd/base/counter.h"

namespace verbline::net_ipoib {

class Statistics {
public:
    using Values = std::map<std::string, std::uint64_t, std::less<>>;

    /// By name, since the last reset. `now`: the counters of the port as it runs; empty while it is stopped.
    Values since_reset(const Values& now) const;
    /// The port stops: its counters as they are at last.
    void keep(const Values& last);
    void reset(const Values& now);

    /// Reads counters, of an owner's `counters`.
    static CounterVisitor reader(Values& into);

private:
    Values past_;   ///< of former runs
    Values zeros_;  ///< what the sums of all runs were at the reset
};

/// What DPDK counts of every port.
struct Totals {
    std::uint64_t rx_frames = 0, rx_bytes = 0, rx_errors = 0, rx_no_buffer = 0;
    std::uint64_t tx_frames = 0, tx_bytes = 0, tx_errors = 0;
    bool operator==(const Totals&) const = default;
};
/// Errors are packets dropped, by whatever reason, except those that were none of the port's.
Totals totals_of(const Statistics::Values& values);

}  // namespace verbline::net_ipoib

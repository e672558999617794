// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// When a busy shard leaves out devices whose every read is a system call (`lossless_rx`: tun, tap), as one that finds
/// nothing costs as much as many packets: for a short time after such a read, which is the longer the more the read
/// has cost. A device with packets is read in each poll, and so is every device when the shard has nothing else to do;
/// what comes after a silence waits for that time at most, and the poll under way.

#include <algorithm>

#include "pmd/base/time.h"

namespace verbline::router {

class ReadPause {
public:
    /// A read that finds nothing takes 1 us where system calls are cheap, twice that on a virtual machine (bench_tun),
    /// and more where its caches are others'. Such reads of all devices together take 2.5 % of a shard at most, up to
    /// ten times that cost.
    static constexpr Time shortest = 40 * microsecond, longest = 400 * microsecond;
    static constexpr Time times_cost = 40;

    /// Whether to leave the device out of this poll. `busy`: the shard found something in its last poll.
    bool skips(bool busy, Time now) const { return busy && now < until_; }
    /// After each read, which took `cost`, of one of so many such devices.
    void note(bool found, Time now, Time cost, unsigned devices) {
        until_ = found ? 0 : now + std::clamp(times_cost * cost * devices, shortest, longest);
    }

private:
    Time until_ = 0;
};

}  // namespace verbline::router

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// When a busy shard leaves out devices whose every read is a system call (`lossless_rx`: tun, tap), as one that finds
/// nothing costs as much as many packets: for a short time after such a read. A device with packets is read in each
/// poll, and so is every device when the shard has nothing else to do; what comes after a silence waits for that time
/// at most, and the poll under way.

#include "pmd/base/time.h"

namespace verbline::router {

class ReadPause {
public:
    static constexpr Time length = 40 * microsecond;  ///< such a read takes 1 us: 2.5 % of a shard

    /// Whether to leave the device out of this poll. `busy`: the shard found something in its last poll.
    bool skips(bool busy, Time now) const { return busy && now < until_; }
    /// After each read.
    void note(bool found, Time now) { until_ = found ? 0 : now + length; }

private:
    Time until_ = 0;
};

}  // namespace verbline::router

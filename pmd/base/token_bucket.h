// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A token-bucket rate limit with an average rate and a burst size. Time is the caller's.

#include <algorithm>
#include <limits>

#include "pmd/base/time.h"

namespace verbline {

/// Stores the time at which the bucket was last empty, so that refilling is one subtraction.
class TokenBucket {
public:
    /// The defaults are the Linux kernel's for ICMP (icmp_msgs_per_sec, icmp_msgs_burst).
    explicit TokenBucket(unsigned per_second = 1'000, unsigned burst = 50)
        : interval_(second / per_second), depth_(interval_ * burst) {}

    /// Takes one token; false if there is none.
    bool take(Time now) {
        const auto empty_at = std::max(empty_at_, now - depth_);
        if (now - empty_at < interval_) return false;
        empty_at_ = empty_at + interval_;
        return true;
    }

private:
    Time interval_, depth_;
    Time empty_at_ = std::numeric_limits<Time>::min() / 2;
};

}  // namespace verbline

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
    /// The Linux kernel's for ICMP (icmp_msgs_per_sec, icmp_msgs_burst).
    static constexpr unsigned default_rate = 1'000, default_burst = 50;

    /// One of `shares` buckets that together have the default limit.
    static TokenBucket share(unsigned shares) {
        return TokenBucket(std::max(1u, default_rate / shares), std::max(1u, default_burst / shares));
    }
    explicit TokenBucket(unsigned per_second = default_rate, unsigned burst = default_burst)
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

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Pacing: when the next packet may be sent at a given rate.
///
/// Virtual scheduling, the second form of the leaky bucket of ITU-T I.371: `paid_at_` is the time at which all bytes
/// sent so far would have left at the rate. Sending may run ahead of it by one burst; idle time earns no more credit
/// than that burst.
///
/// The caller decides which bytes the rate counts: frames, or payload. Pure; one thread.

#include <algorithm>
#include <cstdint>
#include <limits>

#include "pmd/base/time.h"

namespace verbline::congestion {

class Pacer {
public:
    static constexpr std::uint32_t default_burst = 16 * 1024;  ///< bytes that a queue pair may send back to back

    /// A burst of 0 spaces packets evenly; one of n bytes lets n bytes, and the packet that reaches n, leave at once.
    explicit Pacer(std::uint32_t burst_bytes = default_burst) : burst_(burst_bytes) {}

    /// Nothing may be sent before this time; then one packet of any size may.
    Time ready_at() const { return ready_at_; }

    /// Reports a sent packet. `rate_bps` must not be 0. Rounding does not accumulate: fractions of nanoseconds are
    /// carried.
    void sent(std::uint32_t bytes, std::uint64_t rate_bps, Time now) noexcept {
        const double nanoseconds_per_byte = 8.0 * second / static_cast<double>(rate_bps);
        if (paid_at_ < now) {
            paid_at_ = now;
            fraction_ = 0;
        }
        const double cost = fraction_ + static_cast<double>(bytes) * nanoseconds_per_byte;
        const auto whole = static_cast<Time>(cost);
        fraction_ = cost - static_cast<double>(whole);
        paid_at_ += whole;
        ready_at_ = paid_at_ - static_cast<Time>(static_cast<double>(burst_) * nanoseconds_per_byte);
    }

private:
    Time paid_at_ = std::numeric_limits<Time>::min();
    Time ready_at_ = std::numeric_limits<Time>::min();
    double fraction_ = 0;  ///< nanoseconds beyond `paid_at_`, less than one
    std::uint32_t burst_;
};

}  // namespace verbline::congestion

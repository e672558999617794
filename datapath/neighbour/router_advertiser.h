// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// When a router advertises itself on a link (RFC 4861, 6.2.4 to 6.2.6): at first and after changes soon and three
/// times, then at random intervals of minutes; a solicitation brings the next one forward. Never two within three
/// seconds.
///
///     start       ──> now, then within 16 s each, `initial` times; then within `max_interval`
///     solicited   ──> after a random delay of up to half a second
///
/// Pure: no I/O, no clock. The caller sends an advertisement to all nodes whenever `due` says so.

#include <cstdint>
#include <optional>
#include <random>

#include "pmd/base/time.h"

namespace verbline::neighbour {

/// RFC 4861, 6.2.1 and 10, with the names that it gives them.
struct AdvertiserTiming {
    Time max_interval = 600 * second;         ///< MaxRtrAdvInterval
    Time min_interval = 198 * second;         ///< MinRtrAdvInterval
    Time max_initial_interval = 16 * second;  ///< MAX_INITIAL_RTR_ADVERT_INTERVAL
    unsigned initial = 3;                     ///< MAX_INITIAL_RTR_ADVERTISEMENTS
    Time min_delay_between = 3 * second;      ///< MIN_DELAY_BETWEEN_RAS
    Time max_delay = 500 * millisecond;       ///< MAX_RA_DELAY_TIME
};

class RouterAdvertiser {
public:
    /// `seed` of the random times; should differ between routers.
    explicit RouterAdvertiser(std::uint64_t seed, const AdvertiserTiming& timing = {})
        : timing_(timing), random_(seed) {}

    /// There is something to advertise, or something else than before.
    void start(Time now);
    /// There is nothing to advertise.
    void stop() { due_.reset(); }
    /// A valid solicitation was received.
    void solicited(Time now);
    /// Whether to send one; the next is then scheduled. Call at or after `deadline`.
    bool due(Time now);
    std::optional<Time> deadline() const { return due_; }

private:
    Time between(Time least, Time most);
    Time allowed(Time wanted) const;

    AdvertiserTiming timing_;
    std::mt19937_64 random_;
    unsigned initial_ = 0;  ///< left of those at first
    std::optional<Time> due_, last_;
};

}  // namespace verbline::neighbour

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Figures of a round, by the definitions of perftest, so that both tools' columns can be compared.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pmd/base/time.h"

namespace verbline::rdma_bench {

/// When messages were posted and completed, for the peak: the best rate from any posting to any completion behind it.
/// Recorded for up to `most_messages`; beyond, as in perftest, there is no peak.
class PeakRecord {
public:
    static constexpr std::uint64_t most_messages = 20'000;

    /// `expected` messages in all, or nothing: they are not counted beforehand.
    explicit PeakRecord(std::optional<std::uint64_t> expected);

    /// `before` messages had been posted.
    void posted(std::uint64_t before, Time now) {
        if (wanted_) posts_.push_back({before, now});
    }
    /// `count` messages are complete.
    void completed(std::uint64_t count, Time now) {
        if (wanted_) completions_.push_back({count, now});
    }
    /// Nanoseconds of a message in the best stretch; nothing: there is no peak. Takes n log n.
    std::optional<double> nanoseconds() const;

private:
    struct Mark {
        std::uint64_t count;
        Time time;
    };
    static double slope(const Mark& from, const Mark& to);

    bool wanted_;
    std::vector<Mark> posts_, completions_;
};

/// One end's sending.
struct BandwidthFigures {
    std::uint64_t messages = 0;
    Time elapsed = 0;
    std::optional<double> peak_nanoseconds{};  ///< of a message

    double messages_per_second() const;
    double peak_messages_per_second() const;  ///< 0: there is no peak
};

/// Microseconds; one way where a message is answered by one, else the whole round trip.
struct LatencyFigures {
    double least = 0, most = 0, typical = 0, average = 0, deviation = 0, percentile_99 = 0, percentile_99_9 = 0;
};

/// Of times in nanoseconds, which are sorted. Like perftest it leaves the two longest out, if there are more than two,
/// and takes the median as typical. `ways`: 2 if each time is of a message and its answer.
LatencyFigures latency_figures(std::span<Time> times, unsigned ways);

}  // namespace verbline::rdma_bench

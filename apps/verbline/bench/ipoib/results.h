// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What all rounds have measured, and the ratio of IPoIB to Ethernet.

#include <optional>
#include <vector>

#include "apps/verbline/bench/ipoib/course.h"

namespace verbline::ipoib_bench {

enum class Direction : std::uint8_t { send, receive };

/// One case over one link.
struct Series {
    LinkKind link;
    Case what;
    std::vector<double> send, receive;       ///< cycles for a packet, of each round
    Worker send_worker{}, receive_worker{};  ///< who does what packets ask for
    Counts counts;                           ///< of all rounds

    void add(const Slice& slice);
    const std::vector<double>& cycles(Direction direction) const {
        return direction == Direction::send ? send : receive;
    }
    Worker worker(Direction direction) const { return direction == Direction::send ? send_worker : receive_worker; }
};

class Results {
public:
    /// By case, and in each by link, Ethernet first.
    explicit Results(const IpoibPlan& plan);

    std::vector<Series>& series() { return series_; }
    const std::vector<Series>& series() const { return series_; }
    /// Rounds that every series has.
    std::size_t rounds() const { return series_.empty() ? 0 : series_.back().send.size(); }
    /// Leaves out what only some series have of a round that was not finished.
    void keep_whole_rounds();

    /// Packets a second of an IPoIB series divided by those of Ethernet, in each round; empty for Ethernet itself.
    std::vector<double> ratios(const Series& ipoib, Direction direction) const;
    /// The geometric mean of the medians of `ratios`, of all sizes, requests and directions: on one carrier, or on
    /// all.
    double ratio(LinkKind carrier = {}) const;
    Counts counts() const;

private:
    std::vector<Series> series_;
};

}  // namespace verbline::ipoib_bench

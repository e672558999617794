// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The searches of RFC 2544 as state machines: each says what the next trial is, and is told how it went.

#include <cstdint>
#include <optional>

namespace verbline::traffic {

/// What came of a trial.
struct Trial {
    double offered = 0;  ///< frames a second that were really sent
    std::uint64_t sent = 0, received = 0;

    std::uint64_t lost() const { return sent > received ? sent - received : 0; }
    double loss() const { return sent == 0 ? 0 : static_cast<double>(lost()) / static_cast<double>(sent); }
};

struct SearchSettings {
    double max_rate = 0;        ///< frames a second: of the first trial
    double resolution = 0.005;  ///< the search ends when the limit is known to this part of it
    double accepted_loss = 0;   ///< part of the frames; RFC 2544 accepts none
    double delivered = 0.99;    ///< a trial in which the generator sent less than this part proves nothing above that
    unsigned repetitions = 3;   ///< of such a trial, before the generator counts as the limit
};

/// Throughput, RFC 2544 26.1: the highest rate without loss, by bisection.
class ThroughputSearch {
public:
    explicit ThroughputSearch(const SearchSettings& settings) : settings_(settings), above_(settings.max_rate) {}

    /// Frames a second of the next trial; nullopt: the search has ended.
    std::optional<double> next() const;
    void report(const Trial& trial);

    /// The highest rate that was sent without loss; 0: none.
    double throughput() const { return throughput_; }
    /// The generator could not send as fast as was to be tried, so that the limit found is its own.
    bool generator_limited() const { return generator_limited_; }
    unsigned trials() const { return trials_; }

private:
    SearchSettings settings_;
    double below_ = 0, above_;  ///< the limit lies between
    double throughput_ = 0;     ///< as sent, which may be a little less than what was asked for
    unsigned undelivered_ = 0, trials_ = 0;
    bool generator_limited_ = false, ended_ = false;
};

/// Frame loss rate, RFC 2544 26.3: at 100 %, 90 %, ... of the highest rate, until two trials in a row lose nothing.
class LossSeries {
public:
    explicit LossSeries(double max_rate) : max_rate_(max_rate) {}

    std::optional<double> next() const;
    void report(const Trial& trial);

private:
    static constexpr unsigned steps = 10;

    double max_rate_;
    unsigned step_ = 0, without_loss_ = 0;
};

/// Back-to-back frames, RFC 2544 26.4: the longest burst at the highest rate of which nothing is lost, by bisection.
class BurstSearch {
public:
    explicit BurstSearch(std::uint64_t longest) : above_(longest + 1), first_(longest) {}

    /// Frames of the next burst; nullopt: the search has ended.
    std::optional<std::uint64_t> next() const;
    void report(const Trial& trial);
    std::uint64_t longest() const { return below_; }

private:
    std::uint64_t below_ = 0, above_, first_;
};

}  // namespace verbline::traffic

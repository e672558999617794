// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One message at a time, over the first pair.
///
///     PingPong     client: SEND or WRITE ──> server: SEND or WRITE ──> client: next        the server answers
///     RoundTrips   client: READ or atomic ──> completion: next                             the server does nothing
///
/// Whoever waits for a WRITE watches the last byte of its memory, which counts.

#include <cstdint>
#include <vector>

#include "apps/verbline/bench/rdma/statistics.h"
#include "apps/verbline/bench/rdma/traffic.h"

namespace verbline::rdma_bench {

/// The times of a client, and when it is at its end.
class LatencyTraffic : public Traffic {
public:
    LatencyTraffic(Pairs& pairs, const Round& round, End end);

    /// Nanoseconds from each posting to its answer.
    std::vector<Time>& times() { return times_; }
    std::uint64_t exchanges() const { return exchanges_; }

protected:
    /// Posts a message, whose time begins now; its completion is asked for.
    void post(std::uint64_t number, Time now);
    /// Its answer has come. True: it was the last.
    bool answered(Time now);
    bool take_sent(std::uint64_t& completed);

private:
    transport::Segment segment_;
    transport::SendRequest request_;
    Time first_ = 0, posted_at_ = 0;
    std::uint64_t exchanges_ = 0;
    std::vector<Time> times_;
};

class PingPong final : public LatencyTraffic {
public:
    using LatencyTraffic::LatencyTraffic;
    Step step(Time now) override;
    Account counts() const override;

private:
    bool arrived();

    bool waiting_ = false;
    std::uint64_t sent_ = 0, completed_ = 0, received_ = 0, received_bytes_ = 0;
};

class RoundTrips final : public LatencyTraffic {
public:
    using LatencyTraffic::LatencyTraffic;
    Step step(Time now) override;
    Account counts() const override;

private:
    std::uint64_t sent_ = 0, completed_ = 0;
};

}  // namespace verbline::rdma_bench

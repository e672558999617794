// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Keeps the send queues of an end full, and takes what the other sends.

#include <cstdint>
#include <vector>

#include "apps/verbline/bench/rdma/statistics.h"
#include "apps/verbline/bench/rdma/traffic.h"

namespace verbline::rdma_bench {

class Bandwidth final : public Traffic {
public:
    /// The client sends; the server, if the test is bidirectional.
    Bandwidth(Pairs& pairs, const Round& round, End end);

    Step step(Time now) override;
    Account counts() const override;
    /// Of what it has sent: all, or by time what was complete at its end.
    BandwidthFigures figures() const;

protected:
    bool filled(std::size_t pair) const override { return pairs_.spec().one_sided() || queues_[pair].filled; }
    void add_figures(Account& account) const override;

private:
    /// The send queue of a pair.
    struct Queue {
        std::vector<transport::SendRequest> list;  ///< posted at once
        transport::Segment segment;
        std::uint64_t posted = 0, completed = 0;
        std::uint64_t signalled = 0;  ///< of those posted, up to the last that says so
        std::size_t taken = 0;        ///< receives to be posted again
        bool filled = false;          ///< one was
    };

    bool sends() const { return end_ == End::client || pairs_.spec().bidirectional; }
    bool timed() const { return round_.iterations == 0; }
    std::uint64_t wanted(const Queue& queue) const;
    void post(std::size_t pair, Time now);
    void post_list(std::size_t pair, std::uint64_t count, bool last);
    bool take_sent();
    bool take_received();
    void end_of_time(Time now);

    std::vector<Queue> queues_;
    PeakRecord peak_;
    std::uint64_t posted_ = 0, completed_ = 0, received_ = 0, received_bytes_ = 0;
    Time began_ = 0, last_completion_ = 0;
    bool began_at_all_ = false, stopping_ = false, over_ = false;
    BandwidthFigures in_time_;
};

}  // namespace verbline::rdma_bench

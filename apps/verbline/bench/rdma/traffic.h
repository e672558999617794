// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What one end does in a round, a step for each poll of its port.

#include <cstdint>
#include <memory>

#include "apps/verbline/bench/rdma/contents.h"
#include "apps/verbline/bench/rdma/messages.h"
#include "apps/verbline/bench/rdma/pairs.h"
#include "datapath/transport/work.h"

namespace verbline::rdma_bench {

class Traffic {
public:
    enum class Step : std::uint8_t { working, done, failed };

    Traffic(Pairs& pairs, const Round& round, End end) : pairs_(pairs), round_(round), end_(end) { prepare(); }
    Traffic(const Traffic&) = delete;
    Traffic& operator=(const Traffic&) = delete;
    virtual ~Traffic() = default;

    /// Posts, and takes completions. After `done`, it only receives.
    virtual Step step(Time now) = 0;
    /// Messages sent and received so far: often asked for.
    virtual Account counts() const = 0;
    /// The same, with what its memory shows and what it has measured: once, at the end.
    Account account() const;

    const Round& round() const { return round_; }
    /// Why a step has failed.
    transport::Status failure() const { return failure_; }

    /// Whether the last message of the round that came, or was read, has the peer's contents. Of atomics, whether the
    /// peer's number is `sent`.
    bool contents_are_right(const Account& peer) const;

protected:
    Step failed(transport::Status status) {
        failure_ = status;
        return Step::failed;
    }
    /// Whether a message of this round has come into a pair's buffer, or may have: XRC targets share theirs.
    virtual bool filled(std::size_t /*pair*/) const { return true; }
    /// Adds what was measured.
    virtual void add_figures(Account& /*account*/) const {}

    Pairs& pairs_;
    const Round round_;
    const End end_;

private:
    void prepare();
    std::uint64_t atomics() const;
    End peer() const { return end_ == End::client ? End::server : End::client; }

    transport::Status failure_ = transport::Status::success;
};

/// By the test's measure and operation.
std::unique_ptr<Traffic> make_traffic(Pairs& pairs, const Round& round, End end);

}  // namespace verbline::rdma_bench

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What stops an end that waits: a signal, a link that went down, a peer that says nothing.

#include <atomic>
#include <string>

#include "apps/verbline/bench/rdma/port.h"
#include "apps/verbline/bench/rdma/traffic.h"
#include "pmd/base/error.h"

namespace verbline::rdma_bench {

/// After it, what an unreliable transport has not delivered is lost.
constexpr Time quiet = 200 * millisecond;

/// ECANCELED: `stop` is set. ENOLINK: the link was up, and is not any more.
Result<void> may_go_on(const Port& port, const std::atomic<bool>& stop);

/// Waits until the link is up. ENOLINK: not soon enough.
Result<void> await_link(Port& port, const std::atomic<bool>& stop, Time patience);

/// Why a message has failed, in one line.
Error request_failure(const Port& port, transport::Status status);

/// Notices that nothing is sent and nothing comes any more.
class ProgressWatch {
public:
    /// `progress`: any number that changes with each message. False: it has not changed for a long time.
    bool moves(std::uint64_t progress, Time now);

private:
    std::uint64_t last_ = 0;
    Time changed_ = 0;
};

}  // namespace verbline::rdma_bench

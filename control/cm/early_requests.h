// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Requests for a service whose program has bound it and does not listen yet. Some programs tell their peers the port
/// between rdma_bind_addr and rdma_listen (qperf 0.4.11); on a busy machine the REQ comes in between. It waits here for
/// the listener, `longest_early_wait` at most, and is then answered as if it had just come.
///
/// Thread-safe. A port may have as many requests waiting as are still free (shares.h).

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include "control/cm/message.h"
#include "control/cm/peer_limits.h"
#include "control/cm/shares.h"
#include "control/mad/gmp.h"
#include "pmd/base/time.h"

namespace verbline::cm {

class EarlyRequests {
public:
    struct Early {
        mad::GmpPeer from;
        ReceivedMessage message;
    };

    explicit EarlyRequests(std::uint64_t seed) : shares_(most_early, seed) {}

    /// A retransmission of one that waits changes nothing. False: the port's share is used up.
    bool keep(const mad::GmpPeer& from, const ReceivedMessage& request, Time now);
    /// Removes those for the service ids that equal `service` in the bits of `mask`, oldest first.
    std::vector<Early> take(wire::CmServiceId service, std::uint64_t mask);
    /// Removes those that have waited long enough.
    std::vector<Early> expired(Time now);
    std::optional<Time> deadline() const;

private:
    static constexpr Time none = std::numeric_limits<Time>::max();

    struct Waiting {
        Early early;
        Time until = 0;
        Shares::Slot share = 0;
    };
    template <class Wanted>
    std::vector<Early> remove(Wanted wanted);

    std::mutex mutex_;
    std::vector<Waiting> waiting_;       ///< oldest first
    std::atomic<Time> deadline_ = none;  ///< of the first
    Shares shares_;
};

}  // namespace verbline::cm

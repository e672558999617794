// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a seed means for connection managers: how many nodes, what the network does to MADs, what users do.

#include <cstdint>

#include "pmd/base/time.h"
#include "tests/sim/random.h"

namespace verbline::sim {

struct CmPlan {
    unsigned nodes = 2, attempts = 8;
    Time busy = 20 * second;  ///< then the network is whole, and nobody begins anything

    // The network, for each MAD.
    double loss = 0, duplicate = 0, late = 0;
    Time delay = millisecond;       ///< at most, always
    Time lateness = 0;              ///< at most, of those that are late
    unsigned most_lost_in_row = 2;  ///< of messages that are the same; harsh: no limit

    // Users.
    bool harsh = false;     ///< MADs live longer than packets may, retries are few
    bool restarts = false;  ///< nodes forget everything
    bool amnesia = false;   ///< and give out the same ids and queue pairs again
    bool one_seed = false;  ///< all nodes give out the same ids
    bool ids_wrap = false;  ///< past the last id
    bool listeners_leave = false;
    double drops = 0;       ///< chance that an endpoint is dropped where something else could be done
    double mistakes = 0;    ///< calls that cannot be made
    Time thought = second;  ///< until an answer, at most
    Time laziness = 0;      ///< until a poll, at most
    Time skew = 0;          ///< by which a user's clock may be behind the manager's

    /// Nothing but the other user can make a connection fail.
    bool calm() const { return !harsh && !restarts; }
};

CmPlan make_cm_plan(Random& random);

}  // namespace verbline::sim

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One schedule of connection managers: nodes and their users, made from a seed, on a network with troubles made from
/// the same seed; run at virtual time, and everything that users can see checked against what endpoint.h promises.
/// README.md says what that is.

#include <cstdint>
#include <string>

#include "pmd/base/time.h"
#include "tests/sim/random.h"

namespace verbline::sim {

struct CmSummary {
    std::uint64_t schedules = 0, nodes = 0, restarts = 0, endpoints = 0;
    std::uint64_t connects = 0, established = 0, rejected = 0, unanswered = 0, matched = 0, disconnected = 0,
                  dropped = 0, half_open = 0, resolved = 0, paths = 0;
    std::uint64_t messages = 0, lost = 0, duplicated = 0, late = 0, stale = 0, repeated = 0, duplicates_seen = 0,
                  stray = 0;
    Time virtual_time = 0;

    CmSummary& operator+=(const CmSummary& other);
    bool operator==(const CmSummary&) const = default;
};
std::string text(const CmSummary& summary);

struct CmResult {
    std::string fault;  ///< empty: nothing was wrong
    CmSummary summary;
};

/// `trace`: tells on stdout what happens.
CmResult simulate_cm(Seed seed, bool trace = false);

}  // namespace verbline::sim

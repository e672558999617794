// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One schedule: hosts, queue pairs of all types and a program for each, made from a seed, on a network with troubles
/// made from the same seed; run at virtual time, and everything that programs can see checked against what the verbs
/// promise. README.md says what that is.

#include <cstdint>
#include <string>

#include "tests/sim/random.h"

struct rte_mempool;

namespace verbline::sim {

struct SimulationSummary {
    std::uint64_t schedules = 0, queue_pairs = 0, messages = 0, receives = 0, failed_requests = 0;
    std::uint64_t killed = 0, reconnected = 0, datagrams_lost = 0;
    std::uint64_t packets = 0, lost = 0, duplicated = 0, reordered = 0, corrupted = 0, marked = 0;
    std::uint64_t retransmitted = 0, selective = 0, timeouts = 0, naks = 0, rnr_naks = 0, duplicates_seen = 0;
    std::int64_t virtual_time = 0;  ///< nanoseconds

    SimulationSummary& operator+=(const SimulationSummary& other);
};
std::string text(const SimulationSummary& summary);

struct SimulationResult {
    std::string fault;  ///< empty: nothing was wrong
    SimulationSummary summary;
};

/// `pool`: data room for path MTU 4096; all of it is back afterwards, or that is the fault. `trace`: tells on stdout
/// what happens.
SimulationResult simulate(Seed seed, rte_mempool& pool, bool trace = false);

}  // namespace verbline::sim

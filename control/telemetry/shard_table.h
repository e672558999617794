// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The `shards` table: what each poll thread has done. Whole numbers only, which grow: rates and shares are whoever's
/// reads the table twice.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "control/telemetry/server.h"

namespace verbline::telemetry {

/// Of one shard.
struct ShardTotals {
    std::uint64_t polls_busy = 0, polls_idle = 0, waits = 0, events_lost = 0, commands_waiting = 0;
    std::uint64_t busy_cycles = 0, idle_cycles = 0, asleep_cycles = 0;
    std::uint64_t bursts = 0, burst_packets = 0;  ///< received, from whatever it polls
    std::uint64_t rx_handed_over = 0, rx_taken_over = 0, tx_handed_over = 0;
    std::uint64_t rx_dropped_handover_full = 0, tx_dropped_handover_full = 0;
    std::uint64_t rx_packets = 0, tx_packets = 0;  ///< of all ports

    /// Takes a counter of the shard's own; others than those above are left out.
    void count(std::string_view name, std::uint64_t value);
    /// Takes a counter of one queue of a device, or of a port, if it is of what shards hand to each other; a bridge
    /// puts the number of its member in front.
    void count_handover(std::string_view name, std::uint64_t value);
};

/// A row. `warning`: what an operator should see to.
Json shard_row(std::size_t shard, unsigned lcore, const ShardTotals& totals, const std::string& warning);

}  // namespace verbline::telemetry

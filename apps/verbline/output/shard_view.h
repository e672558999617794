// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The shards table for display: how busy each shard is, what a packet costs it, and how evenly packets are spread.
/// An instance sends whole numbers, which only grow.

#include <cstdint>
#include <map>

#include "apps/verbline/output/table.h"

namespace verbline::cli {

/// Adds columns to the rows, before the sums that they are computed from: since the last reading; in the first one,
/// since the instance started.
///
///     busy_pct           of the time: busy, out of busy, idle and asleep
///     packets_per_burst  received
///     cycles_per_packet  received, of the busy time
///     share_pct          of what all shards received
///     spread             that share times the number of shards: 1 is even
///
/// One that would be divided by nothing is null.
class ShardView {
public:
    Json read(const Json& shards);

private:
    struct Work {
        std::uint64_t busy = 0, idle = 0, asleep = 0, bursts = 0, packets = 0;
    };
    static Work work_of(const Json& row);
    static Work difference(const Work& now, const Work& before);
    static void add_columns(Json& row, const Work& work, std::uint64_t packets_of_all, std::size_t shards);

    std::map<std::uint64_t, Work> last_;  ///< by shard
};

/// What fits a line: the rows without the columns that these were computed from, and what was handed over; drops and
/// what waits only if there are any.
Json in_brief(const Json& shards);

}  // namespace verbline::cli

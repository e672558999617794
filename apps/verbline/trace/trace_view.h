// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Traces of an instance's shards for display: their events as rows, in the order in which they happened.

#include <cstddef>
#include <string>
#include <vector>

#include "apps/verbline/output/table.h"
#include "pmd/trace/trace_file.h"

namespace verbline::cli {

/// The last events of all, at most so many; 0: all. Columns:
///
///     time      of day (UTC), to the microsecond
///     us_later  than the row before
///     shard
///     event     its name (pmd/trace/trace_event.h)
///     port      its name, or its number if it has none; "" for none
///     value     a number, if the event has one, and `of`, what it counts
Json trace_rows(const std::vector<pmd::TraceRecord>& records, std::size_t last);

/// A line about one: "shard 0 (lcore 1) of process 4711: the last 65535 of 812345 events, until 12:05:09.123456 UTC".
std::string trace_summary(const pmd::TraceRecord& record);

/// What each event says, as rows.
Json trace_event_rows();

}  // namespace verbline::cli

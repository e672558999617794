// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Tables of running instances in Prometheus' text format, version 0.0.4.
///
///     counters    verbline_NAME{name, owner}                  each counter, with its help
///     shards      verbline_shard_COLUMN{name, shard, lcore}
///     queues      verbline_queue_COLUMN{name, port, queue}
///     path_cache  verbline_path_cache_COLUMN{name, port}
///     ports       verbline_port_up{name, port, type}: 1 or 0
///     each        verbline_up{name}: 1
///
/// The label `name` is the instance's, as `verbline show` has it; `instance` is Prometheus' own for what it scrapes.
/// Types are not declared (untyped): a table does not say which of its numbers only grow. Rows come from other
/// processes, which are not trusted: what is no number is left out, names are made valid, of two series of one name and
/// labels the first stays.

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "apps/verbline/output/table.h"

namespace verbline::metrics {

/// A table of an instance.
struct Reading {
    std::string instance;
    std::string table;  ///< one of `exported`; empty: none, the instance answers
    cli::Json rows;
};

/// The tables that become metrics.
inline constexpr std::array<std::string_view, 5> exported{"counters", "ports", "shards", "queues", "path_cache"};

/// All metrics of these; each name once, with its help, and its series together, as the format demands.
std::string exposition(std::span<const Reading> readings);

}  // namespace verbline::metrics

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The tables of shards' counters, by queue, by shard and by name. Whole numbers only: rates and shares are computed by
/// the reader from two readings.

#include <string_view>

#include "control/gateway/tables.h"
#include "pmd/base/counter.h"

namespace verbline::gateway {

telemetry::Json queues(const View& gateway);
telemetry::Json shards(const View& gateway);
telemetry::Json counters(const View& gateway);
/// What all shards count of a port.
CounterSums port_counters(const View& gateway, std::string_view port);

}  // namespace verbline::gateway

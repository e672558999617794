// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The tables of what shards count, by queue, by shard and by name. Whole numbers only: rates and shares are whoever's
/// reads the table twice.

#include "control/gateway/tables.h"

namespace verbline::gateway {

telemetry::Json queues(const View& gateway);
telemetry::Json shards(const View& gateway);
telemetry::Json counters(const View& gateway);

}  // namespace verbline::gateway

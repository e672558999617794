// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The tables of packet programs: of each port what runs and what became of its packets, its counters, its prefixes.

#include "control/gateway/tables.h"

namespace verbline::gateway {

telemetry::Json programs(const View& gateway);
/// Those that are not zero.
telemetry::Json program_counters(const View& gateway);
telemetry::Json program_prefixes(const View& gateway);

}  // namespace verbline::gateway

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "apps/verbline/metrics/exposition.h"

namespace verbline::metrics {

/// Asks every running instance for its exported tables, now. One that answers and has none of them contributes a
/// reading without rows; one that ends meanwhile what it has said. Waits are limited (TelemetryClient).
std::vector<Reading> read_all();

}  // namespace verbline::metrics

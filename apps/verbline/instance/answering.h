// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "apps/verbline/instance/instance.h"
#include "apps/verbline/instance/telemetry_client.h"

namespace verbline::cli {

/// A running instance that has been asked for its tables.
struct Answering {
    Instance instance;
    TelemetryClient client;
    std::vector<std::string> tables;

    bool serves(std::string_view table) const { return std::ranges::find(tables, table) != tables.end(); }
};

/// Those of `running_instances` that answer, in their order. Waits are limited (TelemetryClient).
std::vector<Answering> answering_instances();

}  // namespace verbline::cli

// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/metrics/readings.h"

#include <algorithm>
#include <string>
#include <utility>

#include "apps/verbline/instance/instance.h"
#include "apps/verbline/instance/telemetry_client.h"

namespace verbline::metrics {

std::vector<Reading> read_all() {
    std::vector<Reading> readings;
    for (const auto& instance : cli::running_instances()) {
        auto client = cli::TelemetryClient::connect(instance.socket);
        const auto served = client ? client->tables() : std::unexpected(client.error());
        if (!served) continue;
        readings.push_back({instance.name, "", cli::Json::array()});
        for (const auto table : exported) {
            if (std::ranges::find(*served, table) == served->end()) continue;
            auto rows = client->table(table);
            if (rows && rows->is_array()) readings.push_back({instance.name, std::string(table), std::move(*rows)});
        }
    }
    return readings;
}

}  // namespace verbline::metrics

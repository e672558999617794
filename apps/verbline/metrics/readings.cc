// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/metrics/readings.h"

#include <string>
#include <utility>

#include "apps/verbline/instance/answering.h"

namespace verbline::metrics {

std::vector<Reading> read_all() {
    std::vector<Reading> readings;
    for (auto& each : cli::answering_instances()) {
        const auto& name = each.instance.name;
        readings.push_back({name, "", cli::Json::array()});
        for (const auto table : exported) {
            if (!each.serves(table)) continue;
            auto rows = each.client.table(table);
            if (rows && rows->is_array()) readings.push_back({name, std::string(table), std::move(*rows)});
        }
    }
    return readings;
}

}  // namespace verbline::metrics

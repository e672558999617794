// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/instance/rows_of_all.h"

#include <algorithm>

#include "apps/verbline/instance/instance.h"
#include "apps/verbline/instance/telemetry_client.h"

namespace verbline::cli {

Json rows_of_all(const std::string& table) {
    auto all = Json::array();
    for (const auto& instance : running_instances()) {
        auto client = TelemetryClient::connect(instance.socket, instance.trust);
        const auto served = client ? client->tables() : std::unexpected(client.error());
        if (!served || std::ranges::find(*served, table) == served->end()) continue;
        const auto rows = client->table(table);
        if (!rows || !rows->is_array()) continue;
        for (const auto& row : *rows) {
            all.push_back({{"program", instance.name}});
            all.back().update(row);
        }
    }
    return all;
}

}  // namespace verbline::cli

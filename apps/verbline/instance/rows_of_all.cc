// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/instance/rows_of_all.h"

#include "apps/verbline/instance/answering.h"

namespace verbline::cli {

Json rows_of_all(const std::string& table) {
    auto all = Json::array();
    for (auto& each : answering_instances()) {
        if (!each.serves(table)) continue;
        const auto rows = each.client.table(table);
        if (!rows || !rows->is_array()) continue;
        for (const auto& row : *rows) {
            all.push_back({{"program", each.instance.name}});
            all.back().update(row);
        }
    }
    return all;
}

}  // namespace verbline::cli

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The `counters` table: every named counter of the process, one row each.

#include <string>
#include <string_view>
#include <utility>

#include "control/telemetry/server.h"
#include "pmd/base/counter.h"

namespace verbline::telemetry {

/// Collects rows {owner, name, value, help}:
///
///     CounterRows rows;
///     device.counters(rows.of("ib0"));
///     return std::move(rows).take();
class CounterRows {
public:
    /// The visitor holds `*this` by reference.
    CounterVisitor of(std::string owner) {
        return [this, owner = std::move(owner)](std::string_view name, std::uint64_t value, std::string_view help) {
            rows_.push_back({{"owner", owner}, {"name", name}, {"value", value}, {"help", help}});
        };
    }
    Json take() && { return std::move(rows_); }

private:
    Json rows_ = Json::array();
};

}  // namespace verbline::telemetry

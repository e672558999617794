// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The counters table for display: without zeros, and with rates between two readings.

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "apps/verbline/output/table.h"
#include "pmd/base/time.h"

namespace verbline::cli {

/// Rows {owner, name, value, help} without those whose value is 0.
Json without_zeros(const Json& counters);

/// Adds a column `per_second` after `value`, from the second reading on.
class Rates {
public:
    Json read(const Json& counters, Time now);

private:
    std::map<std::pair<std::string, std::string>, std::uint64_t> last_;
    Time last_time_ = 0;  ///< of the values in `last_`
};

}  // namespace verbline::cli

// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/output/counter_view.h"

#include <cmath>

namespace verbline::cli {
namespace {

std::uint64_t count(const Json& row) {
    const auto value = row.find("value");
    return value != row.end() && value->is_number_unsigned() ? value->get<std::uint64_t>() : 0;
}

std::string text(const Json& row, const char* key) {
    const auto value = row.find(key);
    return value != row.end() && value->is_string() ? value->get<std::string>() : "";
}

}  // namespace

Json without_zeros(const Json& counters) {
    Json out = Json::array();
    for (const auto& row : counters)
        if (count(row) != 0) out.push_back(row);
    return out;
}

Json Rates::read(const Json& counters, Time now) {
    Json out = Json::array();
    for (const auto& row : counters) {
        const std::pair id{text(row, "owner"), text(row, "name")};
        const auto before = last_.find(id);
        Json with_rate = Json::object();
        for (const auto& [key, value] : row.items()) {
            with_rate[key] = value;
            // A restarted process counts from 0 again: no rate can be computed.
            if (key == "value" && before != last_.end() && count(row) >= before->second && now > last_time_) {
                const auto seconds = static_cast<double>(now - last_time_) / second;
                with_rate["per_second"] = std::llround(static_cast<double>(count(row) - before->second) / seconds);
            }
        }
        last_[id] = count(row);
        out.push_back(std::move(with_rate));
    }
    last_time_ = now;
    return out;
}

}  // namespace verbline::cli

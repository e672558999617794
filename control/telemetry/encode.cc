// SPDX-License-Identifier: BSD-3-Clause
#include "control/telemetry/encode.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <rte_telemetry.h>

namespace verbline::telemetry {
namespace {

/// Bytes of a reply: the library's 16 KiB, less the command's name and brackets.
constexpr std::size_t reply_budget = 16 * 1024 - 512;

std::string text(const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string printable(std::string s) {
    constexpr std::size_t limit = RTE_TEL_MAX_STRING_LEN - 1;
    std::ranges::replace_if(s, [](char c) { return c < ' ' || c > '~'; }, '?');
    if (s.size() > limit) s.replace(limit - 3, std::string::npos, "...");
    return s;
}

std::string key(std::string s) {
    constexpr auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    std::ranges::replace_if(s, [=](char c) { return !allowed(c); }, '_');
    return s.substr(0, RTE_TEL_MAX_STRING_LEN - 1);
}

bool fits_int(const Json& value) {
    using Limits = std::numeric_limits<int>;
    return value.is_number_integer() && value.get<std::int64_t>() >= Limits::min() &&
           value.get<std::int64_t>() <= Limits::max();
}

void encode_member(const std::string& name, const Json& value, rte_tel_data* data) {
    if (value.is_null()) return;
    if (value.is_boolean())
        rte_tel_data_add_dict_int(data, name.c_str(), value.get<bool>());
    else if (value.is_number_unsigned())
        rte_tel_data_add_dict_u64(data, name.c_str(), value.get<std::uint64_t>());
    else if (fits_int(value))
        rte_tel_data_add_dict_int(data, name.c_str(), value.get<int>());
    else
        rte_tel_data_add_dict_string(data, name.c_str(), printable(text(value)).c_str());
}

std::size_t cost(const Json& row) {
    constexpr std::size_t number_and_punctuation = 16;
    return row.dump(-1, ' ', true, Json::error_handler_t::replace).size() + number_and_punctuation;
}

}  // namespace

void encode_object(const Json& object, rte_tel_data* data) {
    rte_tel_data_start_dict(data);
    if (!object.is_object()) return;
    for (const auto& [name, value] : object.items()) encode_member(key(name), value, data);
}

std::size_t encode_rows(const Json& rows, std::size_t first, rte_tel_data* data) {
    rte_tel_data_start_dict(data);
    std::size_t used = 0, n = first;
    for (; n < rows.size(); ++n) {
        used += cost(rows[n]);
        if (used > reply_budget && n != first) break;
        rte_tel_data* row = rte_tel_data_alloc();
        if (row == nullptr) break;
        encode_object(rows[n], row);
        if (rte_tel_data_add_dict_container(data, std::to_string(n).c_str(), row, 0) != 0) {
            rte_tel_data_free(row);
            break;  // 256 rows are in
        }
    }
    return n > first ? n - first : 0;
}

}  // namespace verbline::telemetry

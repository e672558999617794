// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/report/fields.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace verbline::report {
namespace {

const Json* element(const Json& array, std::string_view step) {
    std::size_t index = 0;
    const auto [stop, error] = std::from_chars(step.data(), step.data() + step.size(), index);
    if (error != std::errc() || stop != step.data() + step.size() || index >= array.size()) return nullptr;
    return &array[index];
}

const Json* member(const Json& object, std::string_view step) {
    const auto found = object.find(std::string(step));
    return found == object.end() ? nullptr : &*found;
}

}  // namespace

const Json* Fields::find(std::string_view path) const {
    const Json* here = &document_;
    while (here != nullptr && !path.empty()) {
        // A key may have a dot itself, as perftest's percentile_99.9.
        if (here->is_object()) {
            if (const auto* const whole = member(*here, path)) return whole->is_null() ? nullptr : whole;
        }
        const auto dot = path.find('.');
        const auto step = path.substr(0, dot);
        path = dot == path.npos ? std::string_view() : path.substr(dot + 1);
        here = here->is_object() ? member(*here, step) : here->is_array() ? element(*here, step) : nullptr;
    }
    return here == nullptr || here->is_null() ? nullptr : here;
}

void Fields::wrong(const std::string& path, std::string_view what) {
    if (problem_.empty()) problem_ = fmt::format("{} {}", path, what);
}

const Json* Fields::required(const std::string& path) {
    const auto* const found = find(path);
    if (found == nullptr) wrong(path, "is missing");
    return found;
}

std::optional<double> Fields::number_if_there(const std::string& path) {
    const auto* const found = find(path);
    if (found == nullptr) return std::nullopt;
    const double value = found->is_number() ? found->get<double>() : -1;
    if (value >= 0 && std::isfinite(value)) return value;
    wrong(path, "is no number, or below 0");
    return std::nullopt;
}

double Fields::number(const std::string& path) {
    return required(path) == nullptr ? 0 : number_if_there(path).value_or(0);
}

std::string Fields::text_if_there(const std::string& path) {
    const auto* const found = find(path);
    if (found == nullptr) return "";
    if (found->is_string()) return found->get<std::string>();
    wrong(path, "is no text");
    return "";
}

std::string Fields::text(const std::string& path) {
    return required(path) == nullptr ? "" : text_if_there(path);
}

std::size_t Fields::size_if_there(const std::string& path) {
    const auto* const found = find(path);
    if (found == nullptr) return 0;
    if (found->is_array()) return found->size();
    wrong(path, "is no array");
    return 0;
}

std::size_t Fields::size(const std::string& path) {
    return required(path) == nullptr ? 0 : size_if_there(path);
}

Json cell(std::optional<double> value) {
    if (!value) return nullptr;
    // Counts without a point behind them.
    constexpr double whole = 1e15;
    if (*value == std::floor(*value) && *value < whole) return static_cast<std::int64_t>(*value);
    return *value;
}

}  // namespace verbline::report

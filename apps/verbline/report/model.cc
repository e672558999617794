// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/report/model.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

namespace verbline::report {
namespace {

/// Smaller values than this part of the largest cannot be told apart on a linear axis.
constexpr double linear_range = 50;

Json to_json(const Point& point);
Json to_json(const Series& series);
Json to_json(const Mark& mark);
Json to_json(const Panel& panel);
Json to_json(const Table& table);
Json to_json(const Figure& figure);
Json to_json(const Record& record);

template <class Item>
Json all(const std::vector<Item>& items) {
    Json array = Json::array();
    for (const auto& item : items) array.push_back(to_json(item));
    return array;
}

std::string_view name(Scale scale) {
    constexpr std::array<std::string_view, 5> names{"linear", "log2", "log10", "percentile", "category"};
    return names[static_cast<std::size_t>(std::to_underlying(scale))];
}
std::string_view name(Shape shape) {
    constexpr std::array<std::string_view, 4> names{"lines", "bars", "histogram", "comparison"};
    return names[static_cast<std::size_t>(std::to_underlying(shape))];
}

Json to_json(const Axis& axis) {
    Json out{{"title", axis.title}, {"scale", name(axis.scale)}};
    if (!axis.categories.empty()) out["categories"] = axis.categories;
    return out;
}
Json to_json(const Point& point) {
    Json out{{"x", point.x}, {"y", point.y}};
    if (point.low) out["low"] = *point.low;
    if (point.high) out["high"] = *point.high;
    if (!point.label.empty()) out["label"] = point.label;
    return out;
}
Json to_json(const Series& series) {
    return {{"name", series.name}, {"points", all(series.points)}};
}
Json to_json(const Mark& mark) {
    return {{"name", mark.name}, {"value", mark.value}, {"upright", mark.upright}};
}
Json to_json(const Panel& panel) {
    return {{"title", panel.title},  {"shape", name(panel.shape)},  {"x", to_json(panel.x)},
            {"y", to_json(panel.y)}, {"series", all(panel.series)}, {"marks", all(panel.marks)}};
}
Json to_json(const Table& table) {
    return {{"title", table.title}, {"columns", table.columns}, {"rows", table.rows}};
}
Json to_json(const Figure& figure) {
    return {{"id", figure.id},
            {"title", figure.title},
            {"note", figure.note},
            {"panels", all(figure.panels)},
            {"table", to_json(figure.table)}};
}
Json to_json(const Record& record) {
    return {{"title", record.title}, {"tables", all(record.tables)}};
}

}  // namespace

Json to_json(const Page& page) {
    return {{"title", page.title},          {"made_by", page.made_by},      {"files", page.files},
            {"results", all(page.results)}, {"figures", all(page.figures)}, {"records", all(page.records)}};
}

Table without_empty_columns(Table table) {
    for (auto column = table.columns.size(); column-- > 0;) {
        const auto filled = [&](const std::vector<Json>& row) { return !row[column].is_null() && row[column] != ""; };
        if (std::ranges::any_of(table.rows, filled)) continue;
        const auto place = static_cast<std::ptrdiff_t>(column);
        table.columns.erase(table.columns.begin() + place);
        for (auto& row : table.rows) row.erase(row.begin() + place);
    }
    return table;
}

Scale value_scale(const std::vector<Series>& series) {
    double least = std::numeric_limits<double>::max(), most = 0;
    for (const auto& each : series) {
        for (const auto& point : each.points) {
            least = std::min(least, point.y), most = std::max(most, point.y);
        }
    }
    return least > 0 && most > linear_range * least ? Scale::log10 : Scale::linear;
}

}  // namespace verbline::report

// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/output/table.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

namespace verbline::cli {
namespace {

constexpr std::string_view gap = "  ";

struct Column {
    std::string key;
    bool numeric = true;  ///< every value there is
    std::size_t width = 0;
};

std::string printable(std::string text) {
    std::ranges::replace_if(text, [](unsigned char c) { return std::iscntrl(c) != 0; }, '?');
    return text;
}

std::string cell(const Json& row, const std::string& key) {
    const auto found = row.find(key);
    if (found == row.end() || found->is_null()) return "-";
    return printable(found->is_string() ? found->get<std::string>()
                                        : found->dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string header(std::string key) {
    std::ranges::replace(key, '_', ' ');
    std::ranges::transform(key, key.begin(), [](unsigned char c) { return std::toupper(c); });
    return printable(std::move(key));
}

/// UTF-8 continuation bytes take no room of their own.
std::size_t display_width(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

void append(std::string& line, const std::string& text, const Column& column) {
    const std::string padding(column.width - display_width(text), ' ');
    line += column.numeric ? padding + text : text + padding;
    line += gap;
}

void end_line(std::string& out, std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
}

std::vector<Column> columns_of(const Json& rows) {
    std::vector<Column> columns;
    for (const auto& row : rows) {
        for (const auto& [key, value] : row.items()) {
            auto column = std::ranges::find(columns, key, &Column::key);
            if (column == columns.end()) column = columns.insert(columns.end(), {.key = key});
            if (!value.is_number() && !value.is_null()) column->numeric = false;
        }
    }
    for (auto& column : columns)
        for (const auto& row : rows) column.width = std::max(column.width, display_width(cell(row, column.key)));
    std::erase_if(columns, [](const Column& column) { return column.width == 0; });
    for (auto& column : columns) column.width = std::max(column.width, display_width(header(column.key)));
    return columns;
}

std::string csv_cell(const Json& value) {
    if (value.is_null()) return "";
    auto text = value.is_string() ? value.get<std::string>() : value.dump();
    if (text.find_first_of(",\"\n") == text.npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + "\"";
}

}  // namespace

std::string render_table(const Json& rows) {
    const auto columns = columns_of(rows);
    std::string out, line;
    if (columns.empty()) return out;
    for (const auto& column : columns) append(line, header(column.key), column);
    end_line(out, std::move(line));
    for (const auto& row : rows) {
        line.clear();
        for (const auto& column : columns) append(line, cell(row, column.key), column);
        end_line(out, std::move(line));
    }
    return out;
}

std::string render_object(const Json& object) {
    std::size_t width = 0;
    for (const auto& [key, value] : object.items()) width = std::max(width, display_width(printable(key)));
    std::string out;
    for (const auto& [key, value] : object.items()) {
        std::string line;
        append(line, printable(key), {.key = key, .numeric = false, .width = width});
        end_line(out, line + cell(object, key));
    }
    return out;
}

std::string render_csv(const Json& rows) {
    Json names = Json::object();
    for (const auto& row : rows)
        for (const auto& [key, value] : row.items()) names[key] = key;
    std::string out;
    const auto add_line = [&](const Json& row) {
        std::string_view separator;
        for (const auto& [key, name] : names.items()) {
            out.append(separator).append(csv_cell(row.contains(key) ? row[key] : Json()));
            separator = ",";
        }
        out += '\n';
    };
    if (!names.empty()) add_line(names);
    for (const auto& row : rows) add_line(row);
    return out;
}

std::string render_json(const Json& value) {
    return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace verbline::cli

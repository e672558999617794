// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/metrics/exposition.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace verbline::metrics {
namespace {

using cli::Json;

using Labels = std::vector<std::pair<std::string_view, std::string>>;

/// A name and all of its series.
struct Family {
    std::string help;
    std::map<std::string, std::string> series;  ///< labels, as printed: the value
};
using Families = std::map<std::string, Family>;

/// A table whose numbers are metrics, each by its column.
struct Numbers {
    std::string_view table, prefix, row;
    std::array<std::string_view, 2> labels;  ///< columns that say which row it is
    std::string_view left_out;               ///< a column that says the same again
};
constexpr std::array numbers{
    Numbers{"shards", "shard", "what a shard has done", {"shard", "lcore"}, ""},
    Numbers{"queues", "queue", "what a shard's queue of a port has carried", {"port", "queue"}, "shard"},
    Numbers{"path_cache", "path_cache", "how well the path cache does", {"port", ""}, ""},
};

/// Letters, digits and underscores, the first no digit.
std::string name_of(std::string_view prefix, std::string_view text) {
    auto name = fmt::format("verbline_{}{}{}", prefix, prefix.empty() ? "" : "_", text);
    const auto valid = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    std::ranges::replace_if(name, [&](char c) { return !valid(c); }, '_');
    return name;
}

/// Of a label's value or, without quotes, of a help text. Control characters may come from a peer.
std::string escaped(std::string_view text, bool quotes) {
    std::string out;
    for (const char c : text) {
        if (c == '\\' || (quotes && c == '"')) out += '\\';
        if (c == '\n')
            out += "\\n";
        else
            out += static_cast<unsigned char>(c) < ' ' ? '?' : c;
    }
    return out;
}

std::string text_of(const Json& row, std::string_view column) {
    const auto found = row.find(column);
    if (found == row.end()) return "";
    return found->is_string() ? found->get<std::string>() : found->dump();
}

void add(Families& families, const std::string& name, std::string_view help, const Labels& labels,
         const std::string& value) {
    std::string printed;
    for (const auto& [label, text] : labels)
        printed += fmt::format("{}{}=\"{}\"", printed.empty() ? "" : ",", label, escaped(text, true));
    auto& family = families.try_emplace(name, Family{.help = std::string(help)}).first->second;
    family.series.try_emplace(std::move(printed), value);
}

void add_counters(const Reading& reading, Families& families) {
    for (const auto& row : reading.rows) {
        const auto value = row.find("value");
        if (value == row.end() || !value->is_number()) continue;
        add(families, name_of("", text_of(row, "name")), text_of(row, "help"),
            {{"name", reading.instance}, {"owner", text_of(row, "owner")}}, value->dump());
    }
}

void add_numbers(const Reading& reading, const Numbers& of, Families& families) {
    for (const auto& row : reading.rows) {
        Labels labels{{"name", reading.instance}};
        for (const auto label : of.labels)
            if (!label.empty()) labels.emplace_back(label, text_of(row, label));
        for (const auto& [column, value] : row.items()) {
            if (!value.is_number() || column == of.left_out || std::ranges::count(of.labels, column) != 0) continue;
            add(families, name_of(of.prefix, column), fmt::format("{}: {}", of.row, column), labels, value.dump());
        }
    }
}

void add_ports(const Reading& reading, Families& families) {
    for (const auto& row : reading.rows)
        add(families, "verbline_port_up", "whether packets can leave by the port",
            {{"name", reading.instance}, {"port", text_of(row, "port")}, {"type", text_of(row, "type")}},
            text_of(row, "state") == "up" ? "1" : "0");
}

}  // namespace

std::string exposition(std::span<const Reading> readings) {
    Families families;
    for (const auto& reading : readings) {
        add(families, "verbline_up", "1 for each instance that answers", {{"name", reading.instance}}, "1");
        if (!std::ranges::all_of(reading.rows, [](const Json& row) { return row.is_object(); })) continue;
        if (reading.table == "counters") add_counters(reading, families);
        if (reading.table == "ports") add_ports(reading, families);
        for (const auto& of : numbers)
            if (reading.table == of.table) add_numbers(reading, of, families);
    }
    std::string out;
    for (const auto& [name, family] : families) {
        fmt::format_to(std::back_inserter(out), "# HELP {} {}\n# TYPE {} untyped\n", name, escaped(family.help, false),
                       name);
        for (const auto& [labels, value] : family.series)
            fmt::format_to(std::back_inserter(out), "{}{{{}}} {}\n", name, labels, value);
    }
    return out;
}

}  // namespace verbline::metrics

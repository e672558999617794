// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/config/toml_section.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace verbline::cli {
namespace {

unsigned line_of(const toml::node& node) {
    return node.source().begin.line;
}

/// A non-empty string without NUL, which would end it early in a system call.
Located<std::string> text_of(const toml::node& node, std::string_view key) {
    const auto* text = node.as_string();
    if (text == nullptr) throw Refused{line_of(node), fmt::format("{} must be a string", key)};
    if (text->get().empty() || text->get().find('\0') != std::string::npos)
        throw Refused{line_of(node), fmt::format("{} must not be empty", key)};
    return {text->get(), line_of(node)};
}

}  // namespace

Section::Section(const toml::table& table, std::string_view title, std::span<const std::string_view> known)
    : table_(table), title_(title) {
    for (const auto& [key, node] : table)
        if (std::ranges::find(known, key.str()) == known.end())
            throw Refused{key.source().begin.line,
                          fmt::format("unknown key {} in {}; known: {}", key.str(), title, fmt::join(known, ", "))};
}

unsigned Section::line() const {
    return line_of(table_);
}

std::optional<Located<std::string>> Section::text(std::string_view key) const {
    const auto* node = table_.get(key);
    if (node == nullptr) return std::nullopt;
    return text_of(*node, key);
}

Located<std::string> Section::required_text(std::string_view key) const {
    auto found = text(key);
    if (!found) throw Refused{line(), fmt::format("{} needs {} = \"...\"", title_, key)};
    return std::move(*found);
}

std::vector<Located<std::string>> Section::texts(std::string_view key) const {
    const auto* node = table_.get(key);
    if (node == nullptr) return {};
    const auto* array = node->as_array();
    if (array == nullptr && !node->is_string())
        throw Refused{line_of(*node), fmt::format("{} must be a string or an array of strings", key)};
    if (array == nullptr) return {text_of(*node, key)};
    std::vector<Located<std::string>> out;
    for (const auto& element : *array) out.push_back(text_of(element, key));
    return out;
}

std::optional<Located<std::int64_t>> Section::number(std::string_view key, std::int64_t low, std::int64_t high) const {
    const auto* node = table_.get(key);
    if (node == nullptr) return std::nullopt;
    const auto* number = node->as_integer();
    if (number == nullptr) throw Refused{line_of(*node), fmt::format("{} must be an integer", key)};
    if (number->get() < low || number->get() > high)
        throw Refused{line_of(*node), fmt::format("{} must be from {} to {}", key, low, high)};
    return Located{number->get(), line_of(*node)};
}

std::optional<Located<bool>> Section::flag(std::string_view key) const {
    const auto* node = table_.get(key);
    if (node == nullptr) return std::nullopt;
    const auto* flag = node->as_boolean();
    if (flag == nullptr) throw Refused{line_of(*node), fmt::format("{} must be true or false", key)};
    return Located{flag->get(), line_of(*node)};
}

const toml::table* Section::table(std::string_view key) const {
    const auto* node = table_.get(key);
    if (node == nullptr) return nullptr;
    if (!node->is_table()) throw Refused{line_of(*node), fmt::format("{0} must be written as [{0}]", key)};
    return node->as_table();
}

std::vector<const toml::table*> Section::tables(std::string_view key) const {
    const auto* node = table_.get(key);
    if (node == nullptr) return {};
    std::vector<const toml::table*> out;
    const auto* array = node->as_array();
    if (array == nullptr) throw Refused{line_of(*node), fmt::format("{0} must be written as [[{0}]]", key)};
    for (const auto& element : *array) {
        if (!element.is_table()) throw Refused{line_of(element), fmt::format("{0} must be written as [[{0}]]", key)};
        out.push_back(element.as_table());
    }
    return out;
}

}  // namespace verbline::cli

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Strict access to one table of a TOML file: unknown keys, wrong types and values out of range are errors.
///
/// Errors are thrown as Refused, which keeps the code that reads a file short; config.cc catches them.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

namespace verbline::cli {

struct Refused {
    unsigned line;
    std::string reason;
};

template <class T>
struct Located {
    T value{};
    unsigned line = 0;
};

class Section {
public:
    /// `title` as messages name it; every key of `table` must be one of `known`. The table outlives the section.
    Section(const toml::table& table, std::string_view title, std::span<const std::string_view> known);
    Section(const toml::table& table, std::string_view title, std::initializer_list<std::string_view> known)
        : Section(table, title, std::span(known.begin(), known.size())) {}

    unsigned line() const;
    std::optional<Located<std::string>> text(std::string_view key) const;
    Located<std::string> required_text(std::string_view key) const;
    /// One string or an array of strings.
    std::vector<Located<std::string>> texts(std::string_view key) const;
    std::optional<Located<std::int64_t>> number(std::string_view key, std::int64_t low, std::int64_t high) const;
    std::optional<Located<bool>> flag(std::string_view key) const;
    /// The table of a [key] header; null: there is none.
    const toml::table* table(std::string_view key) const;
    /// The tables of [[key]] headers.
    std::vector<const toml::table*> tables(std::string_view key) const;

private:
    const toml::table& table_;
    std::string title_;
};

}  // namespace verbline::cli

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Reads the fields of JSON that somebody else wrote, and remembers the first that is not as it must be.

#include <optional>
#include <string>
#include <string_view>

#include "apps/verbline/report/model.h"

namespace verbline::report {

/// A path such as "result.rx_mpps" or "rounds.3.MsgSize". Reading goes on after a problem, with empty values, so that
/// readers ask once, at the end.
class Fields {
public:
    explicit Fields(const Json& document) : document_(document) {}

    /// A number that is not negative; 0 after a problem.
    double number(const std::string& path);
    std::optional<double> number_if_there(const std::string& path);
    std::string text(const std::string& path);
    std::string text_if_there(const std::string& path);
    /// How many elements the array has; 0 after a problem.
    std::size_t size(const std::string& path);
    std::size_t size_if_there(const std::string& path);
    /// Null: there is none.
    const Json* find(std::string_view path) const;

    /// "result.rx_mpps is missing", "frames.flows is no number"; empty: none.
    const std::string& problem() const { return problem_; }

private:
    const Json* required(const std::string& path);
    void wrong(const std::string& path, std::string_view what);

    const Json& document_;
    std::string problem_;
};

/// A number that JSON has, or null.
Json cell(std::optional<double> value);

}  // namespace verbline::report

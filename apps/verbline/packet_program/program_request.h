// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the words of `verbline program` ask for.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "apps/verbline/output/table.h"
#include "pmd/base/error.h"

namespace verbline::cli {

/// A table to print; of one port, unless that is empty.
struct ProgramTable {
    std::string_view table;
    std::string port;
};
/// Requests to send, one after the other (control/gateway/program_commands.h).
using ProgramRequests = std::vector<Json>;

struct ProgramOptions {
    std::string section;                 ///< empty: none is given
    std::optional<std::uint32_t> value;  ///< of prefixes
};

constexpr std::size_t prefixes_in_request = 500;

/// EINVAL: one line about what is missing or too much.
Result<std::variant<ProgramTable, ProgramRequests>> program_request(std::span<const std::string> words,
                                                                    const ProgramOptions& options);

/// Rows whose `port` is this one; all, if it is empty.
Json rows_of_port(const Json& rows, std::string_view port);

}  // namespace verbline::cli

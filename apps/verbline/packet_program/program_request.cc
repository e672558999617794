// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/packet_program/program_request.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace verbline::cli {
namespace {

using Words = std::span<const std::string>;
using Asked = Result<std::variant<ProgramTable, ProgramRequests>>;

std::unexpected<Error> missing(std::string_view action, std::string_view what) {
    return failure(EINVAL, fmt::format("program: {} is followed by {}", action, what));
}

Asked table(std::string_view action, std::string_view name, Words rest) {
    if (rest.size() > 1) return missing(action, "one port at most");
    return ProgramTable{name, rest.empty() ? "" : rest[0]};
}

/// The instance has another working directory.
std::string from_root(const std::string& file) {
    std::error_code error;
    const auto path = std::filesystem::absolute(file, error);
    return error ? file : path.lexically_normal().string();
}

Asked prefixes(std::string_view action, Words rest, const ProgramOptions& options) {
    const bool adds = action == "add";
    if (rest.size() < 2) return missing(fmt::format("prefix {}", action), "PORT PREFIX...");
    if (!adds && options.value) return failure(EINVAL, "program: --value is for prefix add");
    ProgramRequests requests;
    const auto all = rest.subspan(1);
    for (std::size_t at = 0; at < all.size(); at += prefixes_in_request) {
        const auto part = all.subspan(at, std::min(prefixes_in_request, all.size() - at));
        Json request{{"command", adds ? "program_prefix_add" : "program_prefix_delete"},
                     {"port", rest[0]},
                     {"prefixes", std::vector<std::string>(part.begin(), part.end())}};
        if (options.value) request["value"] = *options.value;
        requests.push_back(std::move(request));
    }
    return requests;
}

Asked prefix(Words rest, const ProgramOptions& options) {
    const std::string action = rest.empty() ? "" : rest[0];
    if (action == "list") return table("prefix list", "program_prefixes", rest.subspan(1));
    if (action == "add" || action == "delete") return prefixes(action, rest.subspan(1), options);
    return missing("prefix", "add, delete or list");
}

}  // namespace

Result<std::variant<ProgramTable, ProgramRequests>> program_request(Words words, const ProgramOptions& options) {
    const std::string action = words.empty() ? "show" : words[0];
    const auto rest = words.subspan(words.empty() ? 0 : 1);
    const bool loads = action == "load" || action == "replace";
    if (!loads && !options.section.empty()) return failure(EINVAL, "program: --section is for load and replace");
    if (action == "prefix") return prefix(rest, options);
    if (options.value) return failure(EINVAL, "program: --value is for prefix add");
    if (action == "show") return table(action, "programs", rest);
    if (action == "counters") return table(action, "program_counters", rest);
    if (loads) {
        if (rest.size() != 2) return missing(action, "PORT FILE");
        return ProgramRequests{{{"command", "program_" + action},
                                {"port", rest[0]},
                                {"file", from_root(rest[1])},
                                {"section", options.section}}};
    }
    if (action == "unload") {
        if (rest.size() != 1) return missing(action, "PORT");
        return ProgramRequests{{{"command", "program_unload"}, {"port", rest[0]}}};
    }
    return failure(EINVAL,
                   fmt::format("program: {} is none of show, counters, load, replace, unload and prefix", action));
}

Json rows_of_port(const Json& rows, std::string_view port) {
    if (port.empty()) return rows;
    Json of_port = Json::array();
    for (const auto& row : rows)
        if (row.is_object() && row.value("port", "") == port) of_port.push_back(row);
    return of_port;
}

}  // namespace verbline::cli

// SPDX-License-Identifier: BSD-3-Clause
#include "apps/environment/command_line.h"

#include <algorithm>
#include <cerrno>
#include <span>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace verbline {

Result<std::optional<std::vector<std::string>>> parse_command_line(CLI::App& app, int argc, const char* const* argv) {
    const std::span words(argv + 1, argv + argc);
    const auto end = std::ranges::find(words, std::string_view("--"));
    const bool split = end != words.end();
    try {
        std::vector<std::string> ours(split ? end + 1 : words.begin(), words.end());
        std::ranges::reverse(ours);  // the order CLI11 expects
        app.parse(ours);
    } catch (const CLI::Success& success) {
        app.exit(success);
        return std::nullopt;
    } catch (const CLI::ParseError& error) {
        return failure(EINVAL, fmt::format("{}; see --help", error.what()));
    }
    std::vector<std::string> eal;
    if (split) eal.assign(words.begin(), end);
    return eal;
}

}  // namespace verbline

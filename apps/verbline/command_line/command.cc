// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/command_line/command.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include <rte_version.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/verbline/command_line/help.h"
#include "apps/verbline/command_line/version.h"

namespace verbline::cli {
namespace {

/// CLI11's message as the second half of our line.
std::string reason(const Command& command, const CLI::ParseError& error) {
    std::string what = error.what();
    std::ranges::replace(what, '\n', ' ');
    return fmt::format("{0}: {1}; see verbline {0} --help", command.manual().name, what);
}

/// An option that may stand alone takes the next word for its value, but not a device (`kind:...`).
std::vector<std::string> without_devices_as_values(const CLI::App& app, std::span<const std::string> arguments) {
    std::vector<std::string> words(arguments.begin(), arguments.end());
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        const auto* const option = words[i].starts_with("--") ? app.get_option_no_throw(words[i]) : nullptr;
        const bool bare = option != nullptr && option->get_expected_min() == 0 && option->get_expected_max() == 1;
        if (bare && words[i + 1].find(':') != std::string::npos) words[i] += "=true";
    }
    return words;
}

/// False: help was asked for, and printed.
std::expected<bool, Failure> parse(Command& command, CLI::App& app, std::span<const std::string> arguments) {
    command.declare(app);
    const auto words = without_devices_as_values(app, arguments);
    try {
        app.parse(std::vector(words.rbegin(), words.rend()));  // CLI11 takes them last first
    } catch (const CLI::CallForHelp&) {
        fmt::print("{}", command_help(command));
        return false;
    } catch (const CLI::ParseError& error) {
        return usage_failure(reason(command, error));
    }
    return true;
}

std::expected<std::unique_ptr<Command>, Failure> parse_again(std::span<const std::string> words) {
    auto commands = all_commands();
    const auto found = find_command(commands, words);
    if (!found) return std::unexpected(found.error());
    CLI::App app;
    if (auto parsed = parse(**found, app, words.subspan(name_words(**found))); !parsed)
        return std::unexpected(parsed.error());
    return std::move(*std::ranges::find(commands, *found, &std::unique_ptr<Command>::get));
}

}  // namespace

Outcome run(std::span<const std::string> words, const CommandContext& context) {
    const auto commands = all_commands();
    if (words.empty()) return usage_failure("no command given; see verbline --help");
    if (words[0] == "-h" || words[0] == "--help") {
        fmt::print("{}", program_help(commands));
        return {};
    }
    if (words[0] == "--version") {
        fmt::print("verbline {} ({})\n", version, rte_version());
        return {};
    }
    const auto found = find_command(commands, words);
    if (!found) return std::unexpected(found.error());
    auto& command = **found;
    CLI::App app;
    const auto parsed = parse(command, app, words.subspan(name_words(command)));
    if (!parsed) return std::unexpected(parsed.error());
    if (!*parsed) return {};
    auto again = context;
    again.parse_again = [words] { return parse_again(words); };
    return command.run(again);
}

}  // namespace verbline::cli

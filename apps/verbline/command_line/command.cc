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

Outcome run_command(Command& command, std::span<const std::string> arguments, const CommandContext& context) {
    CLI::App app;
    command.declare(app);
    try {
        app.parse(std::vector(arguments.rbegin(), arguments.rend()));  // CLI11 takes them last first
    } catch (const CLI::CallForHelp&) {
        fmt::print("{}", command_help(command));
        return {};
    } catch (const CLI::ParseError& error) {
        return usage_failure(reason(command, error));
    }
    return command.run(context);
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
    return run_command(**found, words.subspan(name_words(**found)), context);
}

}  // namespace verbline::cli

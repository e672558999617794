// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/verbline/command_line/command.h"

namespace verbline::cli {

std::size_t name_words(const Command& command) {
    return 1 + static_cast<std::size_t>(std::ranges::count(command.manual().name, ' '));
}

std::expected<Command*, Failure> find_command(std::span<const std::unique_ptr<Command>> commands,
                                              std::span<const std::string> words) {
    std::string second_words;
    for (const auto& command : commands) {
        const auto name = command->manual().name;
        const auto given = words.first(std::min(words.size(), name_words(*command)));
        if (fmt::format("{}", fmt::join(given, " ")) == name) return command.get();
        if (name.starts_with(words[0] + " "))
            second_words += fmt::format("{}{}", second_words.empty() ? "" : ", ", name.substr(words[0].size() + 1));
    }
    if (second_words.empty())
        return usage_failure(fmt::format("{} is no command of verbline; see verbline --help", words[0]));
    return usage_failure(
        fmt::format("{} is followed by what it is to do: {}; see verbline --help", words[0], second_words));
}

}  // namespace verbline::cli

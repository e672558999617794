// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/command_line/completion_words.h"

#include <algorithm>
#include <ranges>

#include "apps/verbline/command_line/option_list.h"
#include "apps/verbline/command_line/program_manual.h"

namespace verbline::cli {
namespace {

std::vector<std::string> split(std::string_view text, char at) {
    std::vector<std::string> parts;
    for (const auto part : text | std::views::split(at)) parts.emplace_back(part.begin(), part.end());
    return parts;
}

Value value_named(std::string_view name) {
    Value value{.name = std::string(name)};
    value.file = name.starts_with("FILE") || name.ends_with(".toml");
    if (name.contains('|')) value.choices = split(name, '|');
    return value;
}

/// Of "-c, --capture FILE".
CompletionOption option_of(const Term& term) {
    CompletionOption option{.what = term.what};
    for (const auto& word : split(term.name, ' ')) {
        if (word.starts_with('-'))
            option.spellings.push_back(word.substr(0, word.find(',')));
        else if (!word.empty())
            option.value = value_named(word);
    }
    return option;
}

}  // namespace

std::vector<CompletionCommand> completion_commands(std::span<const std::unique_ptr<Command>> commands) {
    std::vector<CompletionCommand> out;
    for (const auto& command : commands) {
        const auto manual = command->manual();
        const auto list = option_list(*command);
        CompletionCommand entry{.name = std::string(manual.name), .summary = std::string(manual.summary)};
        for (const auto& term : list.options) entry.options.push_back(option_of(term));
        for (const auto& term : list.arguments) entry.arguments.push_back(value_named(term.name));
        entry.names_command = !entry.arguments.empty() && entry.arguments[0].name.starts_with("COMMAND");
        entry.runs_program = manual.synopsis.contains("CMD");
        out.push_back(std::move(entry));
    }
    return out;
}

std::vector<CompletionOption> completion_program_options() {
    std::vector<CompletionOption> out;
    for (const auto& term : program_options()) out.push_back(option_of(term));
    return out;
}

std::vector<std::string> second_words(std::span<const CompletionCommand> commands, std::string_view first) {
    std::vector<std::string> words;
    for (const auto& command : commands)
        if (command.has_two_words() && command.first_word() == first)
            words.push_back(command.name.substr(first.size() + 1));
    return words;
}

std::vector<std::string> first_words(std::span<const CompletionCommand> commands) {
    std::vector<std::string> words;
    for (const auto& command : commands)
        if (std::ranges::find(words, command.first_word()) == words.end()) words.emplace_back(command.first_word());
    return words;
}

}  // namespace verbline::cli

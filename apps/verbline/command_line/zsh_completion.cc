// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/verbline/command_line/completion.h"
#include "apps/verbline/command_line/completion_words.h"

namespace verbline::cli {
namespace {

/// EAL arguments, which end with `--`, are taken out: what is left begins with the command.
constexpr std::string_view zsh_head = R"(#compdef verbline
# SPDX-License-Identifier: BSD-3-Clause
# Written by `verbline help --completion zsh`.
_verbline() {
    local context state line command
    local -i end=${words[(i)--]}
    if [[ $words[2] == -?* ]] && ((end < CURRENT)); then
        words=(verbline "${(@)words[end + 1,-1]}")
        ((CURRENT -= end - 1))
    fi
)";
constexpr std::string_view dispatch = R"(        '1:command:->command' '*::argument:->argument' && return
    if [[ $state == command ]]; then
        _describe command commands
        return
    fi
    command=$words[1]
)";

/// Inside of '...', where [, ] and : have a meaning to _arguments.
std::string in_quotes(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\'')
            out += "'\\''";
        else if (c == '[' || c == ']' || c == ':' || c == '\\')
            out.append("\\").push_back(c);
        else
            out += c;
    }
    return out;
}

std::string action(const Value& value) {
    if (!value.choices.empty()) return fmt::format("({})", fmt::join(value.choices, " "));
    return value.file ? "_files" : " ";
}

/// An option as _arguments reads it; any number of them, as some may be repeated.
std::string option_specs(const std::vector<CompletionOption>& options) {
    std::string out;
    for (const auto& option : options) {
        const auto value = option.value.name.empty()
                               ? std::string()
                               : fmt::format(":{}:{}", in_quotes(option.value.name), action(option.value));
        for (const auto& spelling : option.spellings)
            out += fmt::format(" \\\n            '*{}[{}]{}'", spelling, in_quotes(option.what), value);
    }
    return out;
}

std::string argument_specs(const CompletionCommand& command) {
    if (command.names_command) return " \\\n            '*:command:{_describe command commands}'";
    if (command.runs_program) return " \\\n            '*::program: _normal'";
    std::string out;
    for (const auto& value : command.arguments)
        out += fmt::format(" \\\n            '*:{}:{}'", in_quotes(value.name), action(value));
    return command.arguments.size() > 1 ? " \\\n            '*:argument:_default'" : out;
}

std::string descriptions(std::span<const CompletionCommand> commands) {
    std::string out = "    local -a commands=(\n";
    for (const auto& first : first_words(commands)) {
        const auto seconds = second_words(commands, first);
        std::string what = seconds.empty() ? "" : fmt::format("{}", fmt::join(seconds, ", "));
        for (const auto& command : commands)
            if (command.name == first) what = command.summary;
        out += fmt::format("        '{}:{}'\n", first, in_quotes(what));
    }
    return out + "    )\n";
}

std::string second_level(std::span<const CompletionCommand> commands) {
    std::string out;
    for (const auto& first : first_words(commands)) {
        const auto seconds = second_words(commands, first);
        if (seconds.empty()) continue;
        out += fmt::format(R"(    if [[ $command == {0} ]]; then
        if ((CURRENT == 2)); then
            _values '{0}' {1}
            return
        fi
        shift words
        ((CURRENT--))
        command+=" $words[1]"
    fi
)",
                           first, fmt::join(seconds, " "));
    }
    return out;
}

}  // namespace

std::string zsh_completion(std::span<const std::unique_ptr<Command>> commands) {
    const auto all = completion_commands(commands);
    std::string out(zsh_head);
    out += descriptions(all) + "    _arguments -C" + option_specs(completion_program_options()) + " \\\n" +
           std::string(dispatch) + second_level(all) + "    case $command in\n";
    for (const auto& command : all)
        out += fmt::format("        '{}')\n            _arguments{}{}\n            ;;\n", command.name,
                           option_specs(command.options), argument_specs(command));
    return out + "    esac\n}\n_verbline \"$@\"\n";
}

}  // namespace verbline::cli

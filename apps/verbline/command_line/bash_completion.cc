// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/verbline/command_line/completion.h"
#include "apps/verbline/command_line/completion_words.h"

namespace verbline::cli {
namespace {

/// Where the command is: EAL arguments before it end with `--`.
constexpr std::string_view bash_head = R"(# SPDX-License-Identifier: BSD-3-Clause
# Written by `verbline help --completion bash`.
_verbline() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} at=1 command words=''
    COMPREPLY=()
    if ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} == -?* ]]; then
        while ((at < COMP_CWORD)) && [[ ${COMP_WORDS[at]} != -- ]]; do ((at++)); done
        ((at++))
        ((at <= COMP_CWORD)) || return
    fi
    command=${COMP_WORDS[at]}
)";
constexpr std::string_view end = R"(    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
# What it does not know may be a file.
complete -o default -F _verbline verbline
)";

std::string program_words(std::span<const CompletionCommand> commands) {
    auto words = first_words(commands);
    for (const auto& option : completion_program_options())
        words.insert(words.end(), option.spellings.begin(), option.spellings.end());
    return fmt::format("    if ((COMP_CWORD == at)); then\n        words='{}'\n", fmt::join(words, " "));
}

/// Then `command` is both words of a name that has two.
std::string two_word_names(std::span<const CompletionCommand> commands) {
    std::string out;
    for (const auto& first : first_words(commands)) {
        const auto words = second_words(commands, first);
        if (words.empty()) continue;
        out += fmt::format("    elif [[ $command == {} ]] && ((COMP_CWORD == at + 1)); then\n        words='{}'\n",
                           first, fmt::join(words, " "));
    }
    return out;
}

/// What follows an option that takes a value: its choices, or what the shell makes of a file.
std::string values(const CompletionCommand& command) {
    std::string out;
    for (const auto& option : command.options) {
        if (option.value.name.empty()) continue;
        out += fmt::format("                {}) words='{}' ;;\n", fmt::join(option.spellings, " | "),
                           fmt::join(option.value.choices, " "));
    }
    return out;
}

std::string arguments(const CompletionCommand& command, std::span<const CompletionCommand> commands) {
    if (command.names_command) return fmt::format("words+=' {}'", fmt::join(first_words(commands), " "));
    if (command.runs_program) return "[[ $current == -* ]] || words+=\" $(compgen -c -- \"$current\")\"";
    return {};
}

std::string command_case(const CompletionCommand& command, std::span<const CompletionCommand> commands) {
    std::vector<std::string> spellings;
    for (const auto& option : command.options)
        spellings.insert(spellings.end(), option.spellings.begin(), option.spellings.end());
    auto rest = fmt::format("words='{}'", fmt::join(spellings, " "));
    if (const auto more = arguments(command, commands); !more.empty()) rest += "; " + more;
    return fmt::format(
        "        '{}')\n            case $previous in\n{}                *) {} ;;\n            esac\n            ;;\n",
        command.has_two_words() ? command.name : command.name + " ", values(command), rest);
}

}  // namespace

std::string bash_completion(std::span<const std::unique_ptr<Command>> commands) {
    const auto all = completion_commands(commands);
    std::string out(bash_head);
    out += program_words(all) + two_word_names(all) + "    else\n";
    std::vector<std::string> with_two;
    for (const auto& first : first_words(all))
        if (!second_words(all, first).empty()) with_two.push_back(first);
    out += "        local second=''\n";
    if (!with_two.empty())
        out += fmt::format("        case $command in {}) second=${{COMP_WORDS[at + 1]}} ;; esac\n",
                           fmt::join(with_two, " | "));
    out += "        case \"$command $second\" in\n";
    for (const auto& command : all) out += command_case(command, all);
    return out + "        esac\n    fi\n" + std::string(end);
}

}  // namespace verbline::cli

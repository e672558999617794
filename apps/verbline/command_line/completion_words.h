// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What can be typed at each place of a command line: common to the completion scripts of all shells.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/verbline/command_line/command.h"

namespace verbline::cli {

/// What a value or argument is, as its name in the help says.
struct Value {
    std::string name;                  ///< "FILE"; empty: there is none
    bool file = false;                 ///< of a file
    std::vector<std::string> choices;  ///< the only ones, of "auto|none"
};

struct CompletionOption {
    std::vector<std::string> spellings;  ///< "-h", "--help"
    Value value;
    std::string what;
};

struct CompletionCommand {
    std::string name;  ///< one word, or two
    std::string summary;
    std::vector<CompletionOption> options;
    std::vector<Value> arguments;
    bool names_command = false;  ///< its arguments are the name of another command
    bool runs_program = false;   ///< they are a program and its arguments

    std::string_view first_word() const { return std::string_view(name).substr(0, name.find(' ')); }
    bool has_two_words() const { return name.contains(' '); }
};

std::vector<CompletionCommand> completion_commands(std::span<const std::unique_ptr<Command>> commands);
/// The options of `verbline` itself.
std::vector<CompletionOption> completion_program_options();

/// The second words of the commands that begin with `first`, in their order.
std::vector<std::string> second_words(std::span<const CompletionCommand> commands, std::string_view first);
/// First words, each once.
std::vector<std::string> first_words(std::span<const CompletionCommand> commands);

}  // namespace verbline::cli

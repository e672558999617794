// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a subcommand is: a manual, options, and something to run.
///
/// Help and man page are made from the same manual and the same option declarations (help.h), so they cannot disagree.

#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace verbline::cli {

/// How a command fails. `line` is all that is printed, on standard error.
struct Failure {
    static constexpr int usage = 2;     ///< what the user typed or wrote is wrong: nothing was started
    static constexpr int run_time = 1;  ///< the command itself failed

    int status = run_time;
    std::string line;
};
using Outcome = std::expected<void, Failure>;

inline std::unexpected<Failure> usage_failure(std::string_view what) {
    return std::unexpected(Failure{Failure::usage, std::string("verbline: ").append(what)});
}
inline std::unexpected<Failure> run_failure(std::string_view what) {
    return std::unexpected(Failure{Failure::run_time, std::string("verbline: ").append(what)});
}

struct Example {
    std::string_view line;  ///< as typed
    std::string_view what;  ///< what it does
};

struct Manual {
    std::string_view name;                      ///< one word, or two: "bench packet"
    std::string_view summary;                   ///< one line, lower case, no full stop
    std::string_view synopsis;                  ///< what follows the name; one line per form
    std::vector<std::string_view> description;  ///< paragraphs
    std::vector<Example> examples;
    std::vector<std::string_view> see_also;  ///< man pages, "name(section)"
};

class Command;

/// Where a command runs.
struct CommandContext {
    std::vector<std::string> eal_arguments;  ///< what the user put before `--`; empty: none
    /// Parses the same words once more: for a command whose file of options is read again while it runs. Returns a new
    /// one of the same class, parsed and not run.
    std::function<std::expected<std::unique_ptr<Command>, Failure>()> parse_again{};
};

class Command {
public:
    Command() = default;
    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;
    virtual ~Command() = default;

    virtual Manual manual() const = 0;
    /// Declares options and arguments, bound to members.
    virtual void declare(CLI::App& app) = 0;
    /// After `declare` and a successful parse.
    virtual Outcome run(const CommandContext& context) = 0;
};

/// Every subcommand, in the order in which help lists them.
std::vector<std::unique_ptr<Command>> all_commands();

/// The command whose name `words` begin with. The error lists the second words of a name that is not complete.
std::expected<Command*, Failure> find_command(std::span<const std::unique_ptr<Command>> commands,
                                              std::span<const std::string> words);
/// Words of its name.
std::size_t name_words(const Command& command);

/// Runs `words` (the command and its arguments); no word, --help and --version are handled here.
Outcome run(std::span<const std::string> words, const CommandContext& context);

}  // namespace verbline::cli

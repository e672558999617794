// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/command_line/help_command.h"

#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/verbline/command_line/help.h"

namespace verbline::cli {
namespace {

class Help final : public Command {
public:
    Manual manual() const override {
        return {
            .name = "help",
            .summary = "explain a command, or write its man page",
            .synopsis = "[COMMAND] [--man]",
            .description = {"Prints what `verbline COMMAND --help` prints, or the same text as a man page."},
            .examples = {{"verbline help --man show | man -l -", "read the man page of verbline show"}},
            .see_also = {},
        };
    }

    void declare(CLI::App& app) override {
        app.set_help_flag("-h,--help", "print this help");
        app.add_option("COMMAND", words_, "the command; without one, verbline itself");
        app.add_flag("--man", man_, "write a man page (roff) to standard output");
    }

    Outcome run(const CommandContext& /*context*/) override {
        const auto commands = all_commands();
        if (words_.empty()) {
            fmt::print("{}", man_ ? program_man_page(commands) : program_help(commands));
            return {};
        }
        const auto found = find_command(commands, words_);
        if (!found) return std::unexpected(found.error());
        fmt::print("{}", man_ ? command_man_page(**found) : command_help(**found));
        return {};
    }

private:
    std::vector<std::string> words_;
    bool man_ = false;
};

}  // namespace

std::unique_ptr<Command> make_help() {
    return std::make_unique<Help>();
}

}  // namespace verbline::cli

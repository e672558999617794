// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/command_line/help_command.h"

#include <algorithm>

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
        app.add_option("COMMAND", name_, "the command; without one, verbline itself");
        app.add_flag("--man", man_, "write a man page (roff) to standard output");
    }

    Outcome run(const CommandContext& /*context*/) override {
        const auto commands = all_commands();
        if (name_.empty()) {
            fmt::print("{}", man_ ? program_man_page(commands) : program_help(commands));
            return {};
        }
        const auto found = std::ranges::find(commands, name_, [](const auto& c) { return c->manual().name; });
        if (found == commands.end())
            return usage_failure(fmt::format("{} is no command of verbline; see verbline --help", name_));
        fmt::print("{}", man_ ? command_man_page(**found) : command_help(**found));
        return {};
    }

private:
    std::string name_;
    bool man_ = false;
};

}  // namespace

std::unique_ptr<Command> make_help() {
    return std::make_unique<Help>();
}

}  // namespace verbline::cli

// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/command_line/help_command.h"

#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/verbline/command_line/completion.h"
#include "apps/verbline/command_line/help.h"

namespace verbline::cli {
namespace {

class Help final : public Command {
public:
    Manual manual() const override {
        return {
            .name = "help",
            .summary = "explain a command, or write its man page",
            .synopsis = "[COMMAND] [--man]\n--completion bash|zsh",
            .description = {"Prints what `verbline COMMAND --help` prints, or the same text as a man page, or a script "
                            "by which a shell completes commands and options."},
            .examples = {{"verbline help --man show | man -l -", "read the man page of verbline show"},
                         {"source <(verbline help --completion bash)", "complete verbline's commands in this shell"}},
            .see_also = {},
        };
    }

    void declare(CLI::App& app) override {
        app.set_help_flag("-h,--help", "print this help");
        app.add_option("COMMAND", words_, "the command; without one, verbline itself");
        app.add_flag("--man", man_, "write a man page (roff) to standard output");
        app.add_option("--completion", shell_, "write a completion script for this shell")->type_name("bash|zsh");
    }

    Outcome run(const CommandContext& /*context*/) override {
        const auto commands = all_commands();
        if (!shell_.empty()) return write_completion(commands);
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
    Outcome write_completion(std::span<const std::unique_ptr<Command>> commands) const {
        if (shell_ != "bash" && shell_ != "zsh")
            return usage_failure(fmt::format("help: --completion is bash or zsh, not {}", shell_));
        fmt::print("{}", shell_ == "bash" ? bash_completion(commands) : zsh_completion(commands));
        return {};
    }

    std::string shell_;
    std::vector<std::string> words_;
    bool man_ = false;
};

}  // namespace

std::unique_ptr<Command> make_help() {
    return std::make_unique<Help>();
}

}  // namespace verbline::cli

// SPDX-License-Identifier: BSD-3-Clause
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "apps/verbline/command_line/arguments.h"
#include "apps/verbline/command_line/command.h"
#include "control/service/journal.h"

namespace verbline::cli {
namespace {

Outcome main(std::vector<std::string> words) {
    auto arguments = split_arguments(words);
    if (!arguments) return usage_failure(arguments.error().what);
    return run(arguments->command, {.eal_arguments = std::move(arguments->eal)});
}

/// Any thread: no command can continue without memory, and unwinding half-done work is riskier than leaving it. The
/// next start removes what this one leaves, as after a kill.
[[noreturn]] void end_without_memory() {
    constexpr std::string_view line = "verbline: out of memory; give it more, or serve fewer\n";
    [[maybe_unused]] const auto n = write(STDERR_FILENO, line.data(), line.size());
    _exit(EXIT_FAILURE);
}

}  // namespace
}  // namespace verbline::cli

int main(int argc, char** argv) {
    std::set_new_handler(verbline::cli::end_without_memory);
    const auto outcome = verbline::cli::main({argv + 1, argv + argc});
    if (outcome) return 0;
    verbline::service::say(verbline::service::Priority::error, outcome.error().line);
    return outcome.error().status;
}

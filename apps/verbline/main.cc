// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <string>
#include <vector>

#include "apps/verbline/arguments.h"
#include "apps/verbline/command.h"

namespace verbline::cli {
namespace {

Outcome main(std::vector<std::string> words) {
    auto arguments = split_arguments(words);
    if (!arguments) return usage_failure(arguments.error().what);
    return run(arguments->command, {.eal_arguments = std::move(arguments->eal)});
}

}  // namespace
}  // namespace verbline::cli

int main(int argc, char** argv) {
    const auto outcome = verbline::cli::main({argv + 1, argv + argc});
    if (outcome) return 0;
    std::fprintf(stderr, "%s\n", outcome.error().line.c_str());
    return outcome.error().status;
}

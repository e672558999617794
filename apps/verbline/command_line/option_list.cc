// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/command_line/option_list.h"

#include <CLI/CLI.hpp>

namespace verbline::cli {
namespace {

std::string spelling(const CLI::Option& option) {
    if (option.get_positional()) return option.get_name(true);
    std::string name = option.get_name(false, true);
    if (const auto comma = name.find(','); comma != std::string::npos) name.insert(comma + 1, " ");
    // CLI11 appends what a value is checked for: "N:INT in [68 - 9216]".
    const std::string value = option.get_type_name();
    if (!value.empty()) name += " " + value.substr(0, value.find(':'));
    return name;
}

}  // namespace

OptionList option_list(Command& command) {
    CLI::App app;
    command.declare(app);
    OptionList list;
    for (const CLI::Option* option : app.get_options()) {
        auto& terms = option->get_positional() ? list.arguments : list.options;
        terms.push_back({spelling(*option), option->get_description()});
    }
    return list;
}

}  // namespace verbline::cli

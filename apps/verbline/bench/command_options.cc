// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/command_options.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <CLI/CLI.hpp>

namespace verbline::bench {
namespace {

constexpr std::array<std::string_view, 6> of_the_command{"help", "profile", "check", "interval", "json", "csv"};

std::string name_of(const CLI::Option& option) {
    return option.get_positional() ? "device" : option.get_lnames().front();
}

void each_option(const CLI::App& app, auto&& visit) {
    for (const CLI::Option* option : app.get_options())
        if (std::ranges::find(of_the_command, name_of(*option)) == of_the_command.end()) visit(*option);
}

}  // namespace

std::vector<OptionKind> option_kinds(const CLI::App& app) {
    std::vector<OptionKind> kinds;
    each_option(app, [&](const CLI::Option& option) {
        const bool flag = option.get_expected_max() == 0;
        kinds.push_back({.name = name_of(option), .flag = flag, .bare = !flag && option.get_expected_min() == 0});
    });
    return kinds;
}

std::vector<SetOption> given_options(const CLI::App& app) {
    std::vector<SetOption> given;
    each_option(app, [&](const CLI::Option& option) {
        if (option.count() > 0) given.push_back({.name = name_of(option), .values = option.results()});
    });
    return given;
}

void declare_offloads(CLI::App& app, PortTexts& texts) {
    app.add_option(
           "--offloads", texts.offloads,
           "of DPDK's ports: names with commas, such as ipv4-cksum,tcp-tso; all, or nothing: those that drivers "
           "have; none; without it, none")
        ->type_name("LIST")
        ->expected(0, 1);
}

}  // namespace verbline::bench

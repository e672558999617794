// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The options that a command has declared, and those that its user has set, as profiles name them.

#include <vector>

#include "apps/verbline/bench/port_choice.h"
#include "apps/verbline/bench/profile.h"

namespace CLI {
class App;
}

namespace verbline::bench {

/// Those that a profile may set: all but those that say what is printed.
std::vector<OptionKind> option_kinds(const CLI::App& app);
/// Those of them that were on the command line.
std::vector<SetOption> given_options(const CLI::App& app);

/// `--offloads [LIST]`.
void declare_offloads(CLI::App& app, PortTexts& texts);

}  // namespace verbline::bench

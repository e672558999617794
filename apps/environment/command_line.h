// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The command line of a DPDK program: `program [EAL arguments --] arguments`.

#include <optional>
#include <string>
#include <vector>

#include "pmd/base/error.h"

namespace CLI {
class App;
}

namespace verbline {

/// Parses the program's own arguments with `app` and returns those of the EAL: what stands before `--`, without the
/// program's name; empty if there is no `--`. nullopt: `app` has printed its help, and the program ends with status 0.
/// EINVAL: names the argument that is wrong.
Result<std::optional<std::vector<std::string>>> parse_command_line(CLI::App& app, int argc, const char* const* argv);

}  // namespace verbline

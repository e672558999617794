// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Help for terminals and man pages (roff, section 1), both made from a command's manual and its declared options.

#include <memory>
#include <span>
#include <string>

#include "apps/verbline/command_line/command.h"

namespace verbline::cli {

/// `verbline --help`.
std::string program_help(std::span<const std::unique_ptr<Command>> commands);
/// `verbline COMMAND --help`.
std::string command_help(Command& command);

/// verbline(1).
std::string program_man_page(std::span<const std::unique_ptr<Command>> commands);
/// verbline-COMMAND(1).
std::string command_man_page(Command& command);

}  // namespace verbline::cli

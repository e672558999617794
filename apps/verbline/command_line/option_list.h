// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A command's arguments and options as they were declared, ready to be printed.

#include <string>
#include <vector>

#include "apps/verbline/command_line/command.h"

namespace verbline::cli {

struct Term {
    std::string name;  ///< "--mtu N"
    std::string what;
};

struct OptionList {
    std::vector<Term> arguments;
    std::vector<Term> options;
};

OptionList option_list(Command& command);

}  // namespace verbline::cli

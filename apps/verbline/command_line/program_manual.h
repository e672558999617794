// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The manual of `verbline` itself, which is not a command.

#include <vector>

#include "apps/verbline/command_line/command.h"
#include "apps/verbline/command_line/option_list.h"

namespace verbline::cli {

Manual program_manual();
std::vector<Term> program_options();

}  // namespace verbline::cli

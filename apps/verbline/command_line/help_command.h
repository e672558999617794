// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "apps/verbline/command_line/command.h"

namespace verbline::cli {

/// `verbline help`.
std::unique_ptr<Command> make_help();

}  // namespace verbline::cli

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "apps/verbline/command_line/command.h"

namespace verbline::cli {

/// `verbline hub`: a switch for programs that join it.
std::unique_ptr<Command> make_hub();

}  // namespace verbline::cli

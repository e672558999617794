// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "apps/verbline/command_line/command.h"

namespace verbline::cli {

/// `verbline doctor`: what spoils a measurement on this machine or stops a start, and the commands that mend it.
std::unique_ptr<Command> make_doctor();

}  // namespace verbline::cli

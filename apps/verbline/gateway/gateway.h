// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "apps/verbline/command_line/command.h"

namespace verbline::cli {

/// `verbline gateway`: routes between the ports of a configuration file.
std::unique_ptr<Command> make_gateway();

}  // namespace verbline::cli

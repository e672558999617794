// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "apps/verbline/command_line/command.h"

namespace verbline::cli {

/// `verbline path`: a PathRecord from the subnet administrator.
std::unique_ptr<Command> make_path();

}  // namespace verbline::cli

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "apps/verbline/command_line/command.h"

namespace verbline::cli {

/// `verbline show`: the tables of a running instance.
std::unique_ptr<Command> make_show();

}  // namespace verbline::cli
